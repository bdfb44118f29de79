// Values put together from others, parts of values, and values with a border.
#include <algorithm>
#include <numeric>

#include "base/as_size.h"
#include "transform/prune/follow.h"

namespace assay::transform {

namespace {

std::size_t chosen_axis(const ChannelFlow& flow, const Node& node, std::int64_t otherwise) {
  const std::int64_t axis = node.int_or("axis", otherwise);
  return as_size(axis < 0 ? axis + static_cast<std::int64_t>(flow.rank(node.inputs[0])) : axis);
}

std::vector<std::int64_t> range_of(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> positions(as_size(count));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

void follow_concat(ChannelFlow& flow, const Node& node) {
  const ValueId y = node.outputs[0];
  const std::size_t joined = chosen_axis(flow, node, 0);
  std::vector<Channel> all;
  for (const ValueId input : node.inputs) {
    auto own = flow.along(input, joined);
    if (own.empty()) own.assign(as_size(flow.dims(input)[joined]), kFixed);
    all.insert(all.end(), own.begin(), own.end());
    for (std::size_t axis = 0; axis < flow.rank(y); ++axis) {
      if (axis != joined && flow.dims(y)[axis] > 1) flow.tie(node.inputs[0], axis, input, axis);
    }
  }
  for (std::size_t axis = 0; axis < flow.rank(y); ++axis) {
    if (axis != joined) flow.pass_axis(node.inputs[0], axis, y, axis);
  }
  flow.label(y, joined, std::move(all));
}

// The output has these positions of the axis, and everything of the others.
void follow_picked(ChannelFlow& flow, ValueId x, ValueId y, std::size_t axis,
                   const std::vector<std::int64_t>& positions) {
  for (const ChannelAxes& channels : flow.axes(x)) {
    const bool is_picked_from = std::ranges::find(channels.axes, axis) != channels.axes.end();
    if (is_picked_from && channels.axes.size() > 1) flow.pin(x, axis);
    flow.label(y, is_picked_from ? picked(channels, axis, positions) : channels);
  }
}

void follow_split(ChannelFlow& flow, const Node& node) {
  const std::size_t axis = chosen_axis(flow, node, 0);
  std::int64_t first = 0;
  for (const ValueId output : node.outputs) {
    if (!output.is_valid())
      return flow.freeze(node.inputs[0], axis, flow.because("cannot be followed"));
    const std::int64_t count = flow.dims(output)[axis];
    follow_picked(flow, node.inputs[0], output, axis, range_of(first, count));
    first += count;
  }
}

struct SlicedAxis {
  std::size_t axis = 0;
  std::int64_t first = 0;
  bool is_range = false;  // whole or consecutive positions
};

// Nothing: where it begins and ends is only known at run time.
std::optional<std::vector<SlicedAxis>> sliced_axes(const ChannelFlow& flow, const Node& node) {
  const Dims from = flow.dims(node.inputs[0]);
  const bool has_attributes = node.inputs.size() == 1;
  const auto starts = has_attributes ? node.ints_or("starts", {}) : flow.known_ints(1);
  if (!starts) return {};
  Dims all(starts->size()), ones(starts->size(), 1);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  std::optional<Dims> axes = node.ints_or("axes", all), steps = ones;
  if (node.has_input(3)) axes = flow.known_ints(3);
  if (node.has_input(4)) steps = flow.known_ints(4);
  if (!axes || !steps) return {};
  std::vector<SlicedAxis> result;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t named = (*axes)[i];
    const std::size_t axis =
        as_size(named < 0 ? named + static_cast<std::int64_t>(from.size()) : named);
    const std::int64_t begin = (*starts)[i] < 0 ? (*starts)[i] + from[axis] : (*starts)[i];
    result.push_back({axis, std::clamp<std::int64_t>(begin, 0, from[axis]), (*steps)[i] == 1});
  }
  return result;
}

// One axis after the other would need values between: more than one axis with channels is frozen.
void follow_slice(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const auto sliced = sliced_axes(flow, node);
  if (!sliced) return flow.freeze_all(x, flow.because("has limits known only at run time"));
  const Dims from = flow.dims(x), to = flow.dims(y);
  std::optional<SlicedAxis> followed;
  for (const SlicedAxis& one : *sliced) {
    if (from[one.axis] == to[one.axis] && one.is_range) continue;
    const bool has_channels = std::ranges::any_of(flow.axes(x), [&](const ChannelAxes& channels) {
      return std::ranges::find(channels.axes, one.axis) != channels.axes.end();
    });
    if (!has_channels) continue;
    if (!one.is_range || followed) return flow.freeze_all(x, flow.because("picks positions of it"));
    followed = one;
  }
  if (!followed) return flow.pass_all(x, y);
  follow_picked(flow, x, y, followed->axis, range_of(followed->first, to[followed->axis]));
}

// Indices that are no range of an axis with channels of its own.
void follow_gather(ChannelFlow& flow, const Node& node) {
  const ValueId data = node.inputs[0], indices = node.inputs[1], y = node.outputs[0];
  const std::size_t axis = chosen_axis(flow, node, 0);
  const std::size_t index_rank = flow.rank(indices);
  flow.freeze_all(indices, flow.because("looks positions up with it"));
  auto positions = flow.known_ints(1);
  for (const ChannelAxes& channels : flow.axes(data)) {
    const bool is_looked_up = std::ranges::find(channels.axes, axis) != channels.axes.end();
    if (is_looked_up && (channels.axes.size() == 1 || !positions || index_rank > 1)) {
      flow.sets().freeze(channels.channels, flow.because("looks positions up in it"));
      continue;
    }
    ChannelAxes made = channels;
    if (is_looked_up) {
      for (std::int64_t& position : *positions)
        position += position < 0 ? flow.dims(data)[axis] : 0;
      flow.pin(data, axis);
      made = picked(channels, axis, *positions);
      if (index_rank == 0) {
        const auto place = std::ranges::find(made.axes, axis) - made.axes.begin();
        made.axes.erase(made.axes.begin() + place);
        made.dims.erase(made.dims.begin() + place);
      }
    }
    for (std::size_t& one : made.axes) one = one > axis ? one + index_rank - 1 : one;
    flow.label(y, std::move(made));
  }
  if (axis == 0 && flow.rank(data) == 2) flow.add_source(data, 1);
}

// Nothing: they are only known at run time.
std::optional<std::vector<bool>> padded_axes(const ChannelFlow& flow, const Node& node) {
  const std::size_t rank = flow.rank(node.inputs[0]);
  std::optional<Dims> pads = node.ints_or("pads", {});
  if (node.has_input(1)) pads = flow.known_ints(1);
  if (!pads || node.has_input(3) || pads->size() != 2 * rank) return {};
  std::vector<bool> is_padded(rank);
  for (std::size_t i = 0; i < pads->size(); ++i) {
    if ((*pads)[i] != 0) is_padded[i % rank] = true;
  }
  return is_padded;
}

void follow_pad(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0];
  const auto is_padded = padded_axes(flow, node);
  if (!is_padded) return flow.freeze_all(x, flow.because("cannot be followed"));
  flow.settle_all(x);
  for (std::size_t axis = 0; axis < is_padded->size(); ++axis) {
    if ((*is_padded)[axis])
      flow.freeze(x, axis, flow.because("gives it a border"));
    else
      flow.pass_axis(x, axis, node.outputs[0], axis);
  }
}

void follow_resize(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  flow.settle_all(x);
  for (std::size_t axis = 0; axis < flow.rank(x); ++axis) {
    if (axis > 1 || flow.dims(x)[axis] != flow.dims(y)[axis])
      flow.freeze(x, axis, flow.because("changes its length"));
    else
      flow.pass_axis(x, axis, y, axis);
  }
}

}  // namespace

void add_part_follow_rules(FollowTable& table) {
  table["Concat"] = follow_concat;
  table["Split"] = follow_split;
  table["Slice"] = follow_slice;
  table["Gather"] = follow_gather;
  table["Pad"] = follow_pad;
  table["Resize"] = follow_resize;
  table["Upsample"] = follow_resize;
}

}  // namespace assay::transform
