// Ops that move no byte: the same elements under other dimensions, strides and offsets. Whoever
// needs them side by side copies them then.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/steps.h"
#include "kernels/shape_math.h"

namespace assay::cpu {

using kernels::normalized_axis;
using kernels::row_major_strides;
using kernels::slice_range;
using kernels::SliceRange;

Placement sliced(Placement placement, std::size_t axis, std::int64_t first, std::int64_t step,
                 std::int64_t count) {
  placement.offset += first * placement.strides[axis];
  placement.strides[axis] *= step;
  placement.dims[axis] = count;
  return placement;
}

bool is_innermost(const Dims& dims, std::size_t axis) {
  return std::all_of(dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end(),
                     [](std::int64_t dim) { return dim == 1; });
}

Rows rows_from(const Dims& dims, std::size_t axis) {
  return {checked_product(std::span(dims).first(axis)).value_or(0),
          checked_product(std::span(dims).subspan(axis)).value_or(0)};
}

int threads_for(const Lowering& lowering, const Rows& rows) {
  constexpr std::int64_t kElementsWorthSharing = 8192;
  return rows.count * rows.width >= kElementsWorthSharing ? lowering.threads() : 1;
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  return normalized_axis(axis, rank);
}

std::optional<std::vector<std::int64_t>> ints_of(const Lowering& lowering, const Node& node,
                                                 const char* attribute, std::size_t input) {
  if (const auto* numbers = node.get<std::vector<std::int64_t>>(attribute)) return *numbers;
  const Tensor* given = node.has_input(input) ? lowering.constant(node.inputs[input]) : nullptr;
  return given != nullptr ? std::optional(given->to_int64()) : std::nullopt;
}

namespace {

// Strides under which the same elements have other dimensions, where that needs no copy: axes are
// matched from the left in groups of equal size, and each group must lie side by side.
std::optional<Dims> reshaped_strides(const Placement& placement, const Dims& wanted) {
  if (placement.is_row_major()) return row_major_strides(wanted);
  Dims strides(wanted.size(), 1);
  std::size_t i = 0;
  std::size_t j = 0;
  const std::size_t from = placement.dims.size();
  while (i < from && j < wanted.size()) {
    std::int64_t old_size = placement.dims[i];
    std::int64_t new_size = wanted[j];
    std::size_t i_end = i + 1;
    std::size_t j_end = j + 1;
    while (old_size != new_size) {
      if (old_size < new_size) {
        if (i_end == from) return {};
        old_size *= placement.dims[i_end++];
      } else {
        if (j_end == wanted.size()) return {};
        new_size *= wanted[j_end++];
      }
    }
    for (std::size_t k = i; k + 1 < i_end; ++k) {
      if (placement.strides[k] != placement.strides[k + 1] * placement.dims[k + 1]) return {};
    }
    std::int64_t stride = placement.strides[i_end - 1];
    for (std::size_t k = j_end; k-- > j;) {
      strides[k] = stride;
      stride *= wanted[k];
    }
    i = i_end;
    j = j_end;
  }
  return strides;
}

bool lower_reshape(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims wanted = lowering.dims(node.outputs[0]);
  Placement placement = lowering.strided_in_any_type(node.inputs[0]);
  if (placement.elements() == 0) return false;
  if (checked_product(wanted) != placement.elements()) return false;  // only declared so
  auto strides = reshaped_strides(placement, wanted);
  if (!strides) {
    placement = lowering.row_major_in_any_type(node.inputs[0]);
    strides = row_major_strides(wanted);
  }
  placement.dims = wanted;
  placement.strides = *strides;
  lowering.set_placement(node.outputs[0], placement);
  return true;
}

bool has_images(const Placement& placement) {
  return placement.dims.size() >= 3 && placement.dims.size() <= 5;
}

// Strides of images whose channels lie last, without gaps.
Dims channels_last_strides(const Dims& dims) {
  Dims moved = dims;
  std::rotate(moved.begin() + 1, moved.begin() + 2, moved.end());
  Dims strides = row_major_strides(moved);
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return strides;
}

std::optional<Placement> transposed(const Placement& from, const Dims& order) {
  Placement to = from;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto axis = axis_of(order[i], order.size());
    if (!axis) return {};
    to.dims[i] = from.dims[*axis];
    to.strides[i] = from.strides[*axis];
  }
  return to;
}

// Of images with channels last, where the result lies row by row.
std::optional<Placement> transposed_in_place(Lowering& lowering, ValueId id, const Dims& order) {
  Placement from = lowering.native(id);
  if (!from.blocked || !has_images(from) || *from.blocked != image_desc(from.dims, 0, from.type))
    return {};
  from.blocked.reset();
  from.strides = channels_last_strides(from.dims);
  auto to = transposed(from, order);
  return to && to->is_row_major() ? to : std::nullopt;
}

// 8-bit numbers as images with channels last, where that is how they lie. Floats stay as they are:
// products read any strides.
Placement recognised(const Placement& placement) {
  if (placement.blocked || placement.offset != 0 || !has_images(placement)) return placement;
  if (placement.type != DataType::Int8 && placement.type != DataType::UInt8) return placement;
  if (placement.is_row_major() || placement.strides != channels_last_strides(placement.dims))
    return placement;
  return placement_for(placement.buffer, image_desc(placement.dims, 0, placement.type),
                       placement.dims);
}

bool lower_transpose(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const std::size_t rank = lowering.dims(node.inputs[0]).size();
  Dims order = node.ints_or("perm", {});
  if (order.empty()) {
    for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  }
  if (order.size() != rank) return false;
  auto to = transposed_in_place(lowering, node.inputs[0], order);
  if (!to) to = transposed(lowering.strided_in_any_type(node.inputs[0]), order);
  if (!to) return false;
  lowering.set_placement(node.outputs[0], recognised(*to));
  return true;
}

bool lower_slice(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto starts = ints_of(lowering, node, "starts", 1);
  const auto ends = ints_of(lowering, node, "ends", 2);
  auto axes = ints_of(lowering, node, "axes", 3);
  const auto steps = ints_of(lowering, node, "steps", 4);
  if (!starts || !ends || starts->size() != ends->size()) return false;
  if (!axes) {
    if (node.has_input(3)) return false;
    axes = Dims();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (axes->size() != starts->size() || (steps && steps->size() != starts->size()) ||
      (!steps && node.has_input(4))) {
    return false;
  }
  Placement placement = lowering.strided_in_any_type(node.inputs[0]);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = axis_of((*axes)[i], placement.dims.size());
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (!axis || step == 0) return false;
    const SliceRange range = slice_range(placement.dims[*axis], (*starts)[i], (*ends)[i], step);
    placement = sliced(placement, *axis, range.first, range.step, range.count);
  }
  if (placement.elements() == 0 || placement.dims != lowering.dims(node.outputs[0])) return false;
  lowering.set_placement(node.outputs[0], placement);
  return true;
}

bool lower_split(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  Placement whole = lowering.strided_in_any_type(node.inputs[0]);
  const auto axis = axis_of(node.int_or("axis", 0), whole.dims.size());
  if (!axis || whole.elements() == 0) return false;
  std::vector<Placement> parts;
  std::int64_t first = 0;
  for (const ValueId output : node.outputs) {
    if (!output.is_valid() || lowering.dims(output).size() != whole.dims.size()) return false;
    const std::int64_t count = lowering.dims(output)[*axis];
    parts.push_back(sliced(whole, *axis, first, 1, count));
    if (parts.back().dims != lowering.dims(output)) return false;  // only declared so
    first += count;
  }
  if (first != whole.dims[*axis]) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    lowering.set_placement(node.outputs[i], parts[i]);
  }
  return true;
}

bool lower_expand(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  Placement placement = lowering.strided_in_any_type(node.inputs[0]);
  const Dims wanted = lowering.dims(node.outputs[0]);
  if (placement.elements() == 0 || wanted.size() < placement.dims.size()) return false;
  Dims strides(wanted.size(), 0);
  const std::size_t lead = wanted.size() - placement.dims.size();
  for (std::size_t i = 0; i < placement.dims.size(); ++i) {
    if (placement.dims[i] == wanted[lead + i]) {
      strides[lead + i] = placement.strides[i];
    } else if (placement.dims[i] != 1) {
      return false;  // only declared so
    }
  }
  placement.dims = wanted;
  placement.strides = strides;
  if (placement.elements() == 0) return false;
  lowering.set_placement(node.outputs[0], placement);
  return true;
}

}  // namespace

void add_view_lowering(LowerTable& table) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"}) {
    table[op] = lower_reshape;
  }
  table["Transpose"] = lower_transpose;
  table["Slice"] = lower_slice;
  table["Split"] = lower_split;
  table["Expand"] = lower_expand;
}

}  // namespace assay::cpu
