// Ops that pick and place elements.
#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/walk.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

using kernels::normalized_axis;

namespace {

bool lies_channels_last(Lowering& lowering, const Node& node) {
  for (const ValueId input : node.inputs)
    if (input.is_valid() && !lowering.native(input).is_channels_last()) return false;
  return true;
}

// One copy for each operand, into its part of the result.
bool lower_concat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const DataType type = lowering.type(node.outputs[0]);
  const Dims dims = lowering.dims(node.outputs[0]);
  const auto axis = normalized_axis(node.int_or("axis", 1), dims.size());
  if (!axis) return false;
  const Placement result = lowering.in_new_buffer(lies_channels_last(lowering, node)
                                                      ? channels_last_placement(type, dims)
                                                      : row_major_placement(type, dims));
  StepDraft draft{.nodes = {id}, .algorithm = "copy", .writes = {result}};
  std::vector<KernelCall> calls;
  Placement part = result;
  for (const ValueId input : node.inputs) {
    const Placement from = lowering.native(input);
    part.dims = from.dims;
    if (from.elements() > 0) {
      const KernelText kernel = copy_kernel(from, part);
      calls.push_back({lowering.kernels().add(kernel.text), kernel.shape, {from, part}});
      draft.reads.push_back(from);
    }
    part.offset += from.dims[*axis] * result.strides[*axis];
  }
  lowering.set_placement(node.outputs[0], result);
  if (!calls.empty()) lowering.add_step(draft, binder_of(calls));
  return true;
}

// The last step picks elements of `data`: it reads as many as it writes, at most.
void count_what_is_picked(Lowering& lowering, const Placement& data, const Placement& result) {
  if (result.elements() == 0) return;
  const std::int64_t picked = byte_size(data.type, result.elements()).value_or(0);
  const std::int64_t left_out = std::max<std::int64_t>(0, data.distinct_bytes() - picked);
  StepInfo& info = lowering.steps().back().info;
  info.bytes_read -= left_out;
  if (lowering.buffers().is_fixed(data.buffer)) info.weight_bytes -= left_out;
}

// One element of the axis, known beforehand, is a view.
bool lower_gather_of_one(Lowering& lowering, NodeId id, std::size_t axis) {
  const Node& node = lowering.node(id);
  const auto index = lowering.number(node.inputs[1]);
  if (!index) return false;
  Placement seen = lowering.native(node.inputs[0]);
  const std::int64_t length = seen.dims[axis];
  auto at = static_cast<std::int64_t>(*index);
  if (at < 0) at += length;
  if (at < 0 || at >= length) return false;
  seen.offset += at * seen.strides[axis];
  const auto place = static_cast<std::ptrdiff_t>(axis);
  const std::size_t ones = lowering.dims(node.inputs[1]).size();
  for (Dims* numbers : {&seen.dims, &seen.strides}) {
    numbers->erase(numbers->begin() + place);
    numbers->insert(numbers->begin() + place, ones, numbers == &seen.dims ? 1 : 0);
  }
  lowering.set_placement(node.outputs[0], seen);
  return true;
}

// Elements of `data` at the coordinates of the result, but along the axis, where indices say which;
// GatherElements has an index for every element of the result, Gather some for a slice of `data`.
bool lower_gather(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement data = lowering.native(node.inputs[0]);
  const Placement indices = lowering.native(node.inputs[1]);
  const auto axis = normalized_axis(node.int_or("axis", 0), data.dims.size());
  if (!axis || data.elements() == 0) return false;
  const bool is_by_element = node.is("GatherElements");
  if (!is_by_element && lower_gather_of_one(lowering, id, *axis)) return true;
  const Epilogue epilogue = epilogue_of(lowering, id);
  const auto names = index_names(epilogue.result.dims);
  const auto begin = names.begin() + static_cast<std::ptrdiff_t>(*axis);
  const auto end = begin + static_cast<std::ptrdiff_t>(is_by_element ? 1 : indices.dims.size());
  const auto which = is_by_element ? names : std::vector<std::string>(begin, end);
  std::vector<std::string> at(names.begin(), begin);
  at.emplace_back("at");
  at.insert(at.end(), end, names.end());
  Operands operands(lowering);
  const std::string number = operands.element(data, at);
  const std::string index = operands.element(indices, which);
  const std::string body =
      fmt::format("  const long long at = {};\n", operands.index(id, index, data.dims[*axis]));
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body, number,
                   "own");
  count_what_is_picked(lowering, data, epilogue.result);
  return true;
}

bool lower_tile(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement data = lowering.native(node.inputs[0]);
  if (data.elements() == 0) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  auto at = index_names(epilogue.result.dims);
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    at[axis] = remainder_text(at[axis], data.dims[axis]);
  add_indexed_step(lowering, id, epilogue, {data}, parameter_text(data, "data"), "",
                   element_text(data, "data", at), "own");
  return true;
}

// Where an axis of a padded result is read: `from` is declared, and `inside` may become false.
std::string padded_axis_text(std::size_t axis, std::int64_t before, std::int64_t length,
                             const std::string& mode) {
  const std::string from = fmt::format("from{}", axis);
  std::string text = fmt::format("  int {} = i{} - ({});\n", from, axis, before);
  if (mode == "edge")
    return text +
           fmt::format("  {0} = {0} < 0 ? 0 : {0} < {1} ? {0} : {2};\n", from, length, length - 1);
  if (mode == "wrap")
    return text + fmt::format("  {0} = (({0} % {1}) + {1}) % {1};\n", from, length);
  if (mode == "reflect") {
    const std::int64_t period = std::max<std::int64_t>(2 * (length - 1), 1);
    return text +
           fmt::format("  {0} = (({0} % {1}) + {1}) % {1};\n  if ({0} >= {2}) {0} = {1} - {0};\n",
                       from, period, length);
  }
  return text + fmt::format("  if ({0} < 0 || {0} >= {1}) inside = false;\n", from, length);
}

bool lower_pad(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto pads = lowering.integers(node, "pads", 1);
  const auto axes = lowering.integers(node, "axes", 3);
  const Placement data = lowering.native(node.inputs[0]);
  if (!pads || !axes || data.elements() == 0) return false;
  std::string value = number_text(node.float_or("value", 0), computed_type(data.type));
  if (node.has_input(2)) {
    const auto number = lowering.number(node.inputs[2]);
    if (!number) return false;
    value = number_text(*number, computed_type(data.type));
  }
  const std::size_t rank = data.dims.size();
  Dims before(rank, 0);
  for (std::size_t i = 0; i < pads->size() / 2; ++i) {
    const auto axis = axes->empty() ? i : normalized_axis((*axes)[i], rank).value_or(0);
    before[axis] = (*pads)[i];
  }
  const Epilogue epilogue = epilogue_of(lowering, id);
  std::string body = "  bool inside = true;\n";
  std::vector<std::string> at;
  const std::string mode = node.string_or("mode", "constant");
  for (std::size_t axis = 0; axis < rank; ++axis) {
    body += padded_axis_text(axis, before[axis], data.dims[axis], mode);
    at.push_back(fmt::format("from{}", axis));
  }
  add_indexed_step(lowering, id, epilogue, {data}, parameter_text(data, "data"), body,
                   fmt::format("(inside ? {} : {})", element_text(data, "data", at), value), "own");
  return true;
}

}  // namespace

void add_movement_lowering(LowerTable& table) {
  table["Concat"] = lower_concat;
  table["Gather"] = lower_gather;
  table["GatherElements"] = lower_gather;
  table["Tile"] = lower_tile;
  table["Pad"] = lower_pad;
}

}  // namespace assay::cuda
