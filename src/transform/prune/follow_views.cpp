// The same elements under other dimensions, in another order, or repeated.
#include <algorithm>
#include <numeric>

#include "base/as_size.h"
#include "transform/prune/follow.h"

namespace assay::transform {

namespace {

// Axes of the input that hold the same elements as axes of the output, as few as possible.
struct ReshapedPart {
  std::vector<std::size_t> from;
  std::vector<std::size_t> to;
  std::int64_t elements = 1;
};

std::vector<ReshapedPart> reshaped_parts(const Dims& from, const Dims& to) {
  std::vector<ReshapedPart> parts;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapedPart part;
    std::int64_t left = 1, right = 1;
    do {
      const bool takes_input = j >= to.size() || (i < from.size() && left <= right);
      if (takes_input) {
        left *= from[i];
        part.from.push_back(i++);
      } else {
        right *= to[j];
        part.to.push_back(j++);
      }
    } while (left != right && (i < from.size() || j < to.size()));
    part.elements = left;
    parts.push_back(std::move(part));
  }
  return parts;
}

bool holds(const std::vector<std::size_t>& axes, std::size_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

bool holds_all(const std::vector<std::size_t>& axes, const std::vector<std::size_t>& wanted) {
  return std::ranges::all_of(wanted, [&](std::size_t axis) { return holds(axes, axis); });
}

// The channel of every element of the part, row-major over `part.from`.
std::vector<Channel> spread(const ChannelAxes& channels, const ReshapedPart& part,
                            const Dims& from) {
  std::vector<Channel> result(as_size(part.elements));
  for (std::size_t element = 0; element < result.size(); ++element) {
    std::size_t rest = element, place = 0, scale = 1;
    for (std::size_t i = part.from.size(); i-- > 0;) {
      const std::size_t length = as_size(from[part.from[i]]);
      if (holds(channels.axes, part.from[i])) {
        place += rest % length * scale;
        scale *= length;
      }
      rest /= length;
    }
    result[element] = channels.channels[place];
  }
  return result;
}

// Drops the axes along which channels do not change.
ChannelAxes without_repeats(ChannelAxes channels) {
  for (std::size_t place = channels.axes.size(); place-- > 0 && channels.axes.size() > 1;) {
    const std::int64_t length = channels.dims[place];
    const std::vector<std::int64_t> first = {0};
    const ChannelAxes one = picked(channels, channels.axes[place], first);
    bool repeats = true;
    for (std::int64_t i = 1; i < length && repeats; ++i) {
      const std::vector<std::int64_t> position = {i};
      repeats = picked(channels, channels.axes[place], position).channels == one.channels;
    }
    if (!repeats) continue;
    channels.channels = one.channels;
    channels.axes.erase(channels.axes.begin() + static_cast<std::ptrdiff_t>(place));
    channels.dims.erase(channels.dims.begin() + static_cast<std::ptrdiff_t>(place));
  }
  return channels;
}

void follow_part(ChannelFlow& flow, const Node& node, const ReshapedPart& part) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  std::vector<ChannelAxes> within;
  for (const ChannelAxes& channels : flow.axes(x)) {
    if (holds_all(part.from, channels.axes))
      within.push_back(channels);
    else if (std::ranges::any_of(channels.axes, [&](auto axis) { return holds(part.from, axis); }))
      flow.sets().freeze(channels.channels, flow.because("mixes it with other axes"));
  }
  if (within.size() > 1 || (!within.empty() && part.elements > kMostPositions)) {
    for (const ChannelAxes& channels : within)
      flow.sets().freeze(channels.channels, flow.because("merges it with too much else"));
    return;
  }
  if (within.empty()) return;
  const Dims to = flow.dims(y);
  ChannelAxes made{part.to, {}, spread(within.front(), part, flow.dims(x))};
  for (const std::size_t axis : part.to) made.dims.push_back(to[axis]);
  flow.label(y, without_repeats(std::move(made)));
}

void follow_reshape(ChannelFlow& flow, const Node& node) {
  const Dims from = flow.dims(node.inputs[0]);
  const Dims to = flow.dims(node.outputs[0]);
  if (std::ranges::find(from, 0) != from.end())
    return flow.freeze_all(node.inputs[0], flow.because("has no elements"));
  for (const ReshapedPart& part : reshaped_parts(from, to)) follow_part(flow, node, part);
}

void follow_transpose(ChannelFlow& flow, const Node& node) {
  const std::size_t rank = flow.rank(node.inputs[0]);
  Dims reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), std::int64_t{0});
  const Dims order = node.ints_or("perm", reversed);
  for (const ChannelAxes& channels : flow.axes(node.inputs[0])) {
    std::vector<std::size_t> moved;
    for (const std::size_t axis : channels.axes) {
      const auto found = std::ranges::find(order, static_cast<std::int64_t>(axis));
      moved.push_back(as_size(found - order.begin()));
    }
    flow.label(node.outputs[0], with_axes(channels, moved));
  }
}

// What is repeated along a new axis can be repeated less often.
void follow_expand(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  flow.settle_all(x);
  const Dims from = flow.dims(x), to = flow.dims(y);
  const std::size_t shift = to.size() - from.size();
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const bool is_new = axis < shift || from[axis - shift] != to[axis];
    if (is_new)
      flow.label_fresh(y, axis);
    else
      flow.pass_axis(x, axis - shift, y, axis);
  }
}

void follow_filled(ChannelFlow& flow, const Node& node) {
  for (std::size_t axis = 0; axis < flow.rank(node.outputs[0]); ++axis)
    flow.label_fresh(node.outputs[0], axis);
}

void follow_tile(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  flow.settle_all(x);
  for (std::size_t axis = 0; axis < flow.rank(x); ++axis) {
    if (flow.dims(y)[axis] > kMostPositions) {
      flow.freeze(x, axis, flow.because("repeats it too often"));
      continue;
    }
    const auto once = flow.along(x, axis);
    std::vector<Channel> all;
    while (!once.empty() && all.size() < as_size(flow.dims(y)[axis]))
      all.insert(all.end(), once.begin(), once.end());
    flow.label(y, axis, std::move(all));
  }
}

// Elements of a block of size² channels become an area of one channel.
void follow_depth_to_space(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const std::int64_t made = flow.dims(y)[1], block = flow.dims(x)[1] / made;
  const bool blocks_first = node.string_or("mode", "DCR") == "DCR";
  const auto in = flow.along(x, 1);
  for (const std::size_t axis : {2, 3}) flow.freeze(x, axis, flow.because("has blocks along it"));
  flow.pass_axis(x, 0, y, 0);
  if (in.empty()) return;
  std::vector<Channel> out;
  for (std::int64_t channel = 0; channel < made; ++channel) {
    std::vector<Channel> together;
    for (std::int64_t i = 0; i < block; ++i)
      together.push_back(in[as_size(blocks_first ? i * made + channel : channel * block + i)]);
    flow.unite(together);
    out.push_back(together.front());
  }
  flow.label(y, 1, std::move(out));
}

void follow_space_to_depth(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const auto in = flow.along(x, 1);
  for (const std::size_t axis : {2, 3}) flow.freeze(x, axis, flow.because("has blocks along it"));
  flow.pass_axis(x, 0, y, 0);
  std::vector<Channel> out;
  while (!in.empty() && out.size() < as_size(flow.dims(y)[1]))
    out.insert(out.end(), in.begin(), in.end());
  flow.label(y, 1, std::move(out));
}

}  // namespace

void add_view_follow_rules(FollowTable& table) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) table[op] = follow_reshape;
  table["Transpose"] = follow_transpose;
  table["Expand"] = follow_expand;
  table["ConstantOfShape"] = follow_filled;
  table["Tile"] = follow_tile;
  table["DepthToSpace"] = follow_depth_to_space;
  table["SpaceToDepth"] = follow_space_to_depth;
}

}  // namespace assay::transform
