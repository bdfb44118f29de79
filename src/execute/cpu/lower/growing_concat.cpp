#include "execute/cpu/lower/growing_concat.h"

#include <algorithm>

#include "base/checked.h"

namespace assay::cpu {

namespace {

bool extends(const Node& longer, const Node& shorter) {
  return longer.is("Concat") && longer.int_or("axis", 1) == shorter.int_or("axis", 1) &&
         longer.inputs.size() > shorter.inputs.size() &&
         std::equal(shorter.inputs.begin(), shorter.inputs.end(), longer.inputs.begin());
}

std::int64_t channels_of(const Lowering& lowering, NodeId concat) {
  return lowering.dims(lowering.node(concat).outputs[0])[1];
}

// Element-wise ops read pixels with gaps between them as fast as others; what else reads them would
// need a copy.
bool bears_gaps(const Lowering& lowering, ValueId value) {
  const auto& readers = lowering.readers(value);
  return !readers.empty() && std::ranges::all_of(readers, [&](NodeId reader) {
    return lowering.node(reader).is("BatchNormalization") || lowering.node(reader).is("Relu");
  });
}

// The longest Concat that begins with all inputs of this one and is `now` or still to come; itself
// if there is none.
NodeId longest_extension(const Lowering& lowering, NodeId id, NodeId now) {
  NodeId longest = id;
  for (const NodeId reader : lowering.readers(lowering.node(id).inputs[0])) {
    const bool is_done = lowering.is_covered(reader) && reader != now;
    if (!is_done && extends(lowering.node(reader), lowering.node(longest))) longest = reader;
  }
  return longest;
}

// The longest Concat before this one that left room for the same last one.
NodeId shorter_concat(Lowering& lowering, NodeId id, NodeId last) {
  NodeId found;
  for (const NodeId reader : lowering.readers(lowering.node(id).inputs[0])) {
    const Node& node = lowering.node(reader);
    if (!extends(lowering.node(id), node) || !lowering.is_available(node.outputs[0])) continue;
    if (longest_extension(lowering, reader, id) != last) continue;
    if (pixel_distance(lowering.native(node.outputs[0])) != channels_of(lowering, last)) continue;
    if (!found.is_valid() || extends(node, lowering.node(found))) found = reader;
  }
  return found;
}

Placement with_gaps(Placement placement, std::int64_t distance) {
  placement.blocked = {};
  std::int64_t stride = distance;
  for (std::size_t axis = placement.dims.size(); axis-- > 2;) {
    placement.strides[axis] = stride;
    stride *= placement.dims[axis];
  }
  placement.strides[1] = 1;
  placement.strides[0] = stride;
  return placement;
}

}  // namespace

std::optional<std::int64_t> pixel_distance(const Placement& placement) {
  const std::size_t rank = placement.dims.size();
  if (placement.blocked || rank < 3 || placement.strides[1] != 1) return {};
  const std::int64_t distance = placement.strides[rank - 1];
  if (distance <= placement.dims[1]) return {};
  const bool is_even = with_gaps(placement, distance).strides == placement.strides;
  return is_even ? std::optional(distance) : std::nullopt;
}

JoinedPixels place_joined_pixels(Lowering& lowering, NodeId id) {
  const ValueId output = lowering.node(id).outputs[0];
  const Dims dims = lowering.dims(output);
  const auto channels_last = [&](const Dims& of) {
    return image_desc(of, 0, lowering.type(output));
  };
  NodeId last = longest_extension(lowering, id, id);
  if (last != id && !bears_gaps(lowering, output)) last = id;
  const NodeId shorter = shorter_concat(lowering, id, last);
  const Dims whole = lowering.dims(lowering.node(last).outputs[0]);
  JoinedPixels joined;
  joined.result = placement_for({}, channels_last(dims), dims);
  if (last != id) joined.result = with_gaps(joined.result, whole[1]);
  if (shorter.is_valid()) {
    const Placement there = lowering.native(lowering.node(shorter).outputs[0]);
    joined.result.buffer = there.buffer;
    joined.inputs_there = lowering.node(shorter).inputs.size();
  } else {
    joined.result.buffer =
        lowering.new_buffer(static_cast<std::int64_t>(bytes_of(channels_last(whole))));
  }
  return joined;
}

}  // namespace assay::cpu
