#include "transform/prune/follow.h"

#include <algorithm>
#include <numeric>

#include "base/as_size.h"

namespace assay::transform {

namespace {

FollowTable make_follow_table() {
  FollowTable table;
  add_elementwise_follow_rules(table);
  add_product_follow_rules(table);
  add_norm_follow_rules(table);
  add_view_follow_rules(table);
  add_part_follow_rules(table);
  add_recurrent_follow_rules(table);
  return table;
}

// Calls `visit(element, positions)` for all elements, in row-major order.
template <typename Visit>
void for_each_element(const Dims& dims, const Visit& visit) {
  std::vector<std::size_t> at(dims.size(), 0);
  const auto count =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  for (std::size_t element = 0; element < as_size(count); ++element) {
    visit(element, at);
    for (std::size_t i = dims.size(); i-- > 0;) {
      if (++at[i] < as_size(dims[i])) break;
      at[i] = 0;
    }
  }
}

std::size_t element_at(const Dims& dims, const std::vector<std::size_t>& at) {
  std::size_t element = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) element = element * as_size(dims[i]) + at[i];
  return element;
}

}  // namespace

FollowRule find_follow_rule(const Node& node) {
  static const FollowTable table = make_follow_table();
  if (!node.is_standard()) return nullptr;
  const auto found = table.find(node.op);
  return found == table.end() ? nullptr : found->second;
}

ChannelAxes with_axes(const ChannelAxes& channels, const std::vector<std::size_t>& new_axes) {
  std::vector<std::size_t> order(new_axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return new_axes[i]; });
  ChannelAxes result;
  for (const std::size_t i : order) {
    result.axes.push_back(new_axes[i]);
    result.dims.push_back(channels.dims[i]);
  }
  result.channels.resize(channels.channels.size());
  for_each_element(channels.dims, [&](std::size_t element, const std::vector<std::size_t>& at) {
    std::vector<std::size_t> moved;
    for (const std::size_t i : order) moved.push_back(at[i]);
    result.channels[element_at(result.dims, moved)] = channels.channels[element];
  });
  return result;
}

ChannelAxes picked(const ChannelAxes& channels, std::size_t axis,
                   std::span<const std::int64_t> positions) {
  const auto place = as_size(std::ranges::find(channels.axes, axis) - channels.axes.begin());
  ChannelAxes result{channels.axes, channels.dims, {}};
  result.dims[place] = static_cast<std::int64_t>(positions.size());
  for_each_element(result.dims, [&](std::size_t, std::vector<std::size_t> at) {
    at[place] = as_size(positions[at[place]]);
    result.channels.push_back(channels.channels[element_at(channels.dims, at)]);
  });
  return result;
}

}  // namespace assay::transform
