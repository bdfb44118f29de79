// Convolutions and matrix products: they sum over the channels they read, and make new ones.
#include <algorithm>
#include <map>

#include "base/as_size.h"
#include "transform/prune/follow.h"

namespace assay::transform {

namespace {

// Channels [group][place] of a grouped convolution.
std::vector<Channel> at_place(std::span<const Channel> channels, std::size_t groups,
                              std::size_t place) {
  const std::size_t each = channels.size() / groups;
  std::vector<Channel> found;
  for (std::size_t group = 0; group < groups; ++group)
    found.push_back(channels[group * each + place]);
  return found;
}

// An axis without channels is one of fixed positions.
std::vector<Channel> all_positions(ChannelFlow& flow, ValueId value, std::size_t axis) {
  auto channels = flow.along(value, axis);
  if (channels.empty()) channels.assign(as_size(flow.dims(value)[axis]), kFixed);
  return channels;
}

// Every group loses the channels at the same places, so that groups stay equal.
void unite_same_places(ChannelFlow& flow, std::span<const Channel> channels, std::size_t groups,
                       std::span<const Channel> of_weights = {}) {
  for (std::size_t place = 0; place < channels.size() / groups; ++place) {
    auto together = at_place(channels, groups, place);
    if (!of_weights.empty()) together.push_back(of_weights[place]);
    flow.unite(together);
  }
}

// Whole groups go, with all they read and make.
void unite_groups(ChannelFlow& flow, std::span<const Channel> in, std::span<const Channel> out,
                  std::size_t groups) {
  for (std::size_t group = 0; group < groups; ++group) {
    const auto part = [&](std::span<const Channel> all) {
      const std::size_t each = all.size() / groups;
      return all.subspan(group * each, each);
    };
    std::vector<Channel> together(part(in).begin(), part(in).end());
    together.insert(together.end(), part(out).begin(), part(out).end());
    flow.unite(together);
  }
}

// Of groups and channels within a group, those that there are more of can go.
bool prunes_groups(std::int64_t groups, std::int64_t channels_of_group) {
  return groups >= channels_of_group;
}

void freeze_windows(ChannelFlow& flow, const Node& node) {
  for (const std::size_t input : {0, 1}) {
    for (std::size_t axis = 2; axis < flow.rank(node.inputs[input]); ++axis)
      flow.freeze(node.inputs[input], axis, flow.because("has windows along it"));
  }
}

void follow_bias(ChannelFlow& flow, const Node& node) {
  if (node.has_input(2) && flow.dims(node.inputs[2])[0] > 1)
    flow.tie(node.inputs[2], 0, node.outputs[0], 1);
}

void follow_convolution(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], weights = node.inputs[1], y = node.outputs[0];
  const std::int64_t groups = node.int_or("group", 1);
  freeze_windows(flow, node);
  flow.pass_axis(x, 0, y, 0);
  if (groups == 1) {
    if (flow.dims(x)[1] > 1) flow.tie(x, 1, weights, 1);
  } else {
    const auto in = all_positions(flow, x, 1);
    const auto out = all_positions(flow, weights, 0);
    const std::int64_t in_group = flow.dims(weights)[1];
    if (prunes_groups(groups, in_group)) {
      unite_groups(flow, in, out, as_size(groups));
      flow.freeze(weights, 1, flow.because("loses whole groups"));
    } else {
      unite_same_places(flow, in, as_size(groups), all_positions(flow, weights, 1));
      unite_same_places(flow, out, as_size(groups));
    }
  }
  flow.pass_axis(weights, 0, y, 1);
  follow_bias(flow, node);
  flow.add_source(weights, 0);
}

// Its weights are stored [in, out / groups, …].
void follow_grouped_transposed(ChannelFlow& flow, const Node& node, std::int64_t groups) {
  const ValueId x = node.inputs[0], weights = node.inputs[1], y = node.outputs[0];
  flow.tie(all_positions(flow, x, 1), all_positions(flow, weights, 0));
  const auto in = all_positions(flow, weights, 0);
  const auto of_group = all_positions(flow, weights, 1);
  std::vector<Channel> out;
  const bool by_group = prunes_groups(groups, static_cast<std::int64_t>(of_group.size()));
  if (by_group)
    unite_groups(flow, in, {}, as_size(groups));
  else
    unite_same_places(flow, in, as_size(groups));
  const std::size_t each = in.size() / as_size(groups);
  for (std::size_t group = 0; group < as_size(groups); ++group) {
    for (const Channel channel : of_group) out.push_back(by_group ? in[group * each] : channel);
  }
  if (by_group) flow.freeze(weights, 1, flow.because("loses whole groups"));
  flow.label(y, 1, std::move(out));
  flow.add_source(weights, by_group ? 0 : 1);
}

void follow_transposed_convolution(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], weights = node.inputs[1], y = node.outputs[0];
  freeze_windows(flow, node);
  flow.pass_axis(x, 0, y, 0);
  if (const std::int64_t groups = node.int_or("group", 1); groups > 1) {
    follow_grouped_transposed(flow, node, groups);
  } else {
    if (flow.dims(x)[1] > 1) flow.tie(x, 1, weights, 0);
    flow.pass_axis(weights, 1, y, 1);
    flow.add_source(weights, 1);
  }
  follow_bias(flow, node);
}

void follow_gemm(ChannelFlow& flow, const Node& node) {
  const ValueId a = node.inputs[0], b = node.inputs[1], y = node.outputs[0];
  const std::size_t rows = node.int_or("transA", 0) != 0 ? 1 : 0;
  const std::size_t columns = node.int_or("transB", 0) != 0 ? 0 : 1;
  if (flow.dims(a)[1 - rows] > 1) flow.tie(a, 1 - rows, b, 1 - columns);
  flow.pass_axis(a, rows, y, 0);
  flow.pass_axis(b, columns, y, 1);
  if (node.has_input(2)) flow.tie_broadcast(node.inputs[2], y);
  flow.add_source(b, columns);
  flow.add_source(a, rows);
}

// Heads of attention are a batch of matrices: they go as a whole.
void settle_batches(ChannelFlow& flow, ValueId value) {
  for (std::size_t axis = 0; axis + 2 < flow.rank(value); ++axis) flow.settle(value, axis);
}

void follow_batches(ChannelFlow& flow, const Node& node) {
  const ValueId y = node.outputs[0];
  const std::size_t batches =
      std::max({flow.rank(node.inputs[0]), flow.rank(node.inputs[1]), std::size_t{2}}) - 2;
  for (std::size_t axis = 0; axis < batches; ++axis) {
    std::vector<Channel> made;
    for (const std::size_t i : {0, 1}) {
      const ValueId input = node.inputs[i];
      const std::size_t missing = batches + 2 - std::max<std::size_t>(flow.rank(input), 2);
      if (axis < missing || flow.dims(input)[axis - missing] == 1) continue;
      auto channels = all_positions(flow, input, axis - missing);
      if (!made.empty()) flow.tie(made, channels);
      if (made.empty()) made = std::move(channels);
    }
    flow.label(y, axis, std::move(made));
  }
}

void follow_matmul(ChannelFlow& flow, const Node& node) {
  const ValueId a = node.inputs[0], b = node.inputs[1], y = node.outputs[0];
  settle_batches(flow, a);
  settle_batches(flow, b);
  const std::size_t a_rank = flow.rank(a), b_rank = flow.rank(b), y_rank = flow.rank(y);
  const std::size_t b_rows = b_rank == 1 ? 0 : b_rank - 2;
  if (flow.dims(a)[a_rank - 1] > 1) flow.tie(a, a_rank - 1, b, b_rows);
  follow_batches(flow, node);
  if (a_rank > 1) {
    flow.pass_axis(a, a_rank - 2, y, y_rank - (b_rank > 1 ? 2 : 1));
    flow.add_source(a, a_rank - 2);
  }
  if (b_rank > 1) {
    flow.pass_axis(b, b_rank - 1, y, y_rank - 1);
    flow.add_source(b, b_rank - 1);
  }
}

struct EinsumTerms {
  std::vector<std::string> inputs;
  std::string output;
};

// Nothing for an equation with "..." or without "->".
std::optional<EinsumTerms> einsum_terms(std::string equation) {
  std::erase(equation, ' ');
  const auto arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return {};
  EinsumTerms terms{{""}, equation.substr(arrow + 2)};
  for (const char letter : equation.substr(0, arrow)) {
    if (letter == ',')
      terms.inputs.emplace_back();
    else
      terms.inputs.back() += letter;
  }
  return terms;
}

void follow_einsum(ChannelFlow& flow, const Node& node) {
  const auto terms = einsum_terms(node.string_or("equation", ""));
  if (!terms || terms->inputs.size() != node.inputs.size()) {
    for (const ValueId input : node.inputs)
      flow.freeze_all(input, flow.because("cannot be followed"));
    return;
  }
  std::map<char, std::vector<Channel>> channels;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string& letters = terms->inputs[i];
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
      if (flow.dims(node.inputs[i])[axis] == 1) continue;
      auto own = all_positions(flow, node.inputs[i], axis);
      const auto [found, is_new] = channels.try_emplace(letters[axis], own);
      if (!is_new) flow.tie(found->second, own);
      if (terms->output.find(letters[axis]) != std::string::npos)
        flow.add_source(node.inputs[i], axis);
    }
  }
  for (std::size_t axis = 0; axis < terms->output.size(); ++axis)
    flow.label(node.outputs[0], axis, channels[terms->output[axis]]);
}

}  // namespace

void add_product_follow_rules(FollowTable& table) {
  table["Conv"] = follow_convolution;
  table["ConvTranspose"] = follow_transposed_convolution;
  table["Gemm"] = follow_gemm;
  table["MatMul"] = follow_matmul;
  table["Einsum"] = follow_einsum;
}

}  // namespace assay::transform
