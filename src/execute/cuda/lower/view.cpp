// Ops that move nothing: the same elements under other dimensions or in another order.
#include "execute/cuda/lowering.h"
#include "kernels/shape_math.h"
#include "memory/sharing.h"

namespace assay::cuda {

using kernels::normalized_axis;
using kernels::slice_range;

namespace {

bool lower_view(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!memory::is_view(node) || node.inputs.empty()) return false;
  const Dims dims = lowering.dims(node.outputs[0]);
  auto seen = reshaped(lowering.native(node.inputs[0]), dims);
  if (!seen) seen = reshaped(lowering.row_major(node.inputs[0]), dims);
  if (!seen) return false;
  lowering.set_placement(node.outputs[0], *seen);
  return true;
}

bool lower_transpose(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement from = lowering.native(node.inputs[0]);
  Dims order(from.dims.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
  order = node.ints_or("perm", order);
  Placement seen = from;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t axis = normalized_axis(order[i], order.size()).value_or(0);
    seen.dims[i] = from.dims[axis];
    seen.strides[i] = from.strides[axis];
  }
  lowering.set_placement(node.outputs[0], seen);
  return true;
}

bool lower_expand(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  lowering.set_placement(
      node.outputs[0], broadcast(lowering.native(node.inputs[0]), lowering.dims(node.outputs[0])));
  return true;
}

// Parts of consecutive elements along an axis.
bool lower_split(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement from = lowering.native(node.inputs[0]);
  const auto rank = static_cast<std::int64_t>(from.dims.size());
  std::int64_t axis = node.int_or("axis", 0);
  if (axis < 0) axis += rank;
  const auto at = static_cast<std::size_t>(axis);
  Placement part = from;
  for (const ValueId output : node.outputs) {
    if (!output.is_valid()) return false;
    part.dims = lowering.dims(output);
    lowering.set_placement(output, part);
    part.offset += part.dims[at] * from.strides[at];
  }
  return true;
}

bool lower_slice(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto starts = lowering.integers(node, "starts", 1);
  const auto ends = lowering.integers(node, "ends", 2);
  const auto axes = lowering.integers(node, "axes", 3);
  const auto steps = lowering.integers(node, "steps", 4);
  if (!starts || !ends || !axes || !steps) return false;
  Placement seen = lowering.native(node.inputs[0]);
  const Dims dims = lowering.dims(node.outputs[0]);
  if (row_major_placement(seen.type, dims).elements() == 0) return false;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = axes->empty() ? i : normalized_axis((*axes)[i], dims.size()).value_or(0);
    const std::int64_t step = steps->empty() ? 1 : (*steps)[i];
    const auto range = slice_range(seen.dims[axis], (*starts)[i], (*ends)[i], step);
    seen.offset += range.first * seen.strides[axis];
    seen.strides[axis] *= range.step;
  }
  seen.dims = dims;
  lowering.set_placement(node.outputs[0], seen);
  return true;
}

}  // namespace

void add_view_lowering(LowerTable& table) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) table[op] = lower_view;
  table["Transpose"] = lower_transpose;
  table["Expand"] = lower_expand;
  table["Split"] = lower_split;
  table["Slice"] = lower_slice;
}

}  // namespace assay::cuda
