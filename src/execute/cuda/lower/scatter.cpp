// Elements read or written by tuples of indices: GatherND, ScatterElements, ScatterND.
//
// A scatter that replaces numbers copies the data, then writes each update by a thread of its own:
// which of two for the same place counts is open, as ONNX says. Where updates are combined, a
// thread that owns a place of the result looks at all that may reach it, in their order.
#include <fmt/core.h>

#include "base/checked.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/walk.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

using kernels::normalized_axis;

namespace {

bool lower_gather_nd(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement data = lowering.native(node.inputs[0]);
  const Placement indices = lowering.native(node.inputs[1]);
  const auto batch =
      static_cast<std::size_t>(std::max<std::int64_t>(node.int_or("batch_dims", 0), 0));
  if (data.elements() == 0 || indices.dims.empty()) return false;
  const std::size_t outer = indices.dims.size() - 1;
  const auto width = static_cast<std::size_t>(indices.dims.back());
  if (batch > outer || batch + width > data.dims.size()) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  const auto names = index_names(epilogue.result.dims);
  Operands operands(lowering);
  std::vector<std::string> at(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(batch));
  std::vector<std::string> tuple(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(outer));
  tuple.emplace_back("");
  for (std::size_t i = 0; i < width; ++i) {
    tuple.back() = std::to_string(i);
    at.push_back(operands.index(id, operands.element(indices, tuple), data.dims[batch + i]));
  }
  at.insert(at.end(), names.begin() + static_cast<std::ptrdiff_t>(outer), names.end());
  const std::string sum = operands.element(data, at);
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), "", sum, "own");
  return true;
}

const char* combined_text(const std::string& reduction) {
  if (reduction == "add") return "value + next";
  if (reduction == "mul") return "value * next";
  if (reduction == "max") return "value < next ? next : value";
  return reduction == "min" ? "next < value ? next : value" : nullptr;
}

// A scatter as one thread for each place of the result: `loops` runs over the updates that may
// reach it, and `reaches` says whether one does, of which `next` is the number.
struct ScatterTexts {
  std::string loops;
  std::string reaches;
  std::string next;
};

bool add_scatter(Lowering& lowering, NodeId id, const Placement& data, Operands& operands,
                 const ScatterTexts& texts, std::int64_t updates) {
  const Node& node = lowering.node(id);
  const char* combined = combined_text(node.string_or("reduction", "none"));
  if (combined == nullptr) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  const std::string type = computed_type(data.type);
  const std::string body = fmt::format(
      "  {0} value = {1};\n{2}    if ({3}) {{\n      const {0} next = {4};\n      value = "
      "({0})({5});\n"
      "    }}\n  }}\n",
      type, operands.element(data, index_names(data.dims)), texts.loops, texts.reaches, texts.next,
      combined);
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body, "value",
                   "own", updates);
  return true;
}

// One thread for each update, whose coordinates are those of `updates`; `to` are those of its
// place.
void add_replacing_scatter(Lowering& lowering, NodeId id, const Placement& data,
                           const Placement& updates, Operands& operands,
                           const std::vector<std::string>& to) {
  const Placement result = lowering.new_row_major(lowering.node(id).outputs[0]);
  lowering.set_placement(lowering.node(id).outputs[0], result);
  const KernelText copy = copy_kernel(data, result);
  std::vector<KernelCall> calls = {{lowering.kernels().add(copy.text), copy.shape, {data, result}}};
  const std::string next = operands.element(updates, index_names(updates.dims));
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({}{}* __restrict__ out) {{
  const long long element = blockIdx.x * {}ll + threadIdx.x;
  if (element >= {}) return;
{}  out[{}] = {};
}}
)",
      operands.parameters(), stored_type(result.type), kBlockThreads, updates.elements(),
      coordinates_of(updates), offset_text(result, to), stored(result.type, next));
  if (updates.elements() > 0) {
    calls.push_back(
        {lowering.kernels().add(text), launch_for(updates.elements()), operands.reads()});
    calls.back().arguments.push_back(result);
  }
  StepDraft draft{.nodes = {id}, .algorithm = "own", .reads = operands.reads(), .writes = {result}};
  draft.reads.push_back(data);
  lowering.add_step(draft, binder_of(calls));
}

bool replaces(const Node& node) {
  return node.string_or("reduction", "none") == "none";
}

bool lower_scatter_elements(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement data = lowering.native(node.inputs[0]);
  const Placement indices = lowering.native(node.inputs[1]);
  const Placement updates = lowering.native(node.inputs[2]);
  const auto axis = normalized_axis(node.int_or("axis", 0), data.dims.size());
  if (!axis || data.elements() == 0 || data.type == DataType::Bool) return false;
  Operands operands(lowering);
  auto at = index_names(data.dims);
  if (replaces(node)) {
    at[*axis] = operands.index(id, operands.element(indices, at), data.dims[*axis]);
    add_replacing_scatter(lowering, id, data, updates, operands, at);
    return true;
  }
  std::string inside = "true";
  for (std::size_t i = 0; i < at.size(); ++i)
    if (i != *axis) inside += fmt::format(" && i{} < {}", i, indices.dims[i]);
  const std::string own = at[*axis];
  at[*axis] = "j";
  const ScatterTexts texts{
      .loops =
          fmt::format("  for (int j = 0; j < {} && {}; ++j) {{\n", indices.dims[*axis], inside),
      .reaches = fmt::format(
          "{} == {}", operands.index(id, operands.element(indices, at), data.dims[*axis]), own),
      .next = operands.element(updates, at)};
  return add_scatter(lowering, id, data, operands, texts, indices.elements());
}

bool lower_scatter_nd(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement data = lowering.native(node.inputs[0]);
  const Placement indices = lowering.row_major(node.inputs[1]);
  const Placement updates = lowering.row_major(node.inputs[2]);
  if (data.elements() == 0 || indices.dims.empty() || data.type == DataType::Bool) return false;
  const auto width = static_cast<std::size_t>(indices.dims.back());
  if (width > data.dims.size()) return false;
  const std::int64_t tuples = width == 0 ? 0 : indices.elements() / indices.dims.back();
  if (tuples == 0) return false;
  Operands operands(lowering);
  if (replaces(node)) {
    const std::size_t outer = indices.dims.size() - 1;
    const auto names = index_names(updates.dims);
    std::vector<std::string> own(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(outer));
    own.emplace_back("");
    std::vector<std::string> to;
    for (std::size_t i = 0; i < width; ++i) {
      own.back() = std::to_string(i);
      to.push_back(operands.index(id, operands.element(indices, own), data.dims[i]));
    }
    to.insert(to.end(), names.begin() + static_cast<std::ptrdiff_t>(outer), names.end());
    add_replacing_scatter(lowering, id, data, updates, operands, to);
    return true;
  }
  const std::string tuple = operands.pointer(indices);
  std::string reaches = "true";
  for (std::size_t i = 0; i < width; ++i)
    reaches += fmt::format(
        " && {} == i{}",
        operands.index(id, fmt::format("{}[j * {} + {}]", tuple, width, i), data.dims[i]), i);
  std::string place = "j";
  for (std::size_t i = width; i < data.dims.size(); ++i)
    place = fmt::format("({} * {} + i{})", place, data.dims[i], i);
  const ScatterTexts texts{
      .loops = fmt::format("  for (long long j = 0; j < {}; ++j) {{\n", tuples),
      .reaches = reaches,
      .next = loaded(updates.type, fmt::format("{}[{}]", operands.pointer(updates), place))};
  return add_scatter(lowering, id, data, operands, texts, tuples);
}

}  // namespace

void add_scatter_lowering(LowerTable& table) {
  table["GatherND"] = lower_gather_nd;
  table["ScatterElements"] = lower_scatter_elements;
  table["Scatter"] = lower_scatter_elements;
  table["ScatterND"] = lower_scatter_nd;
}

}  // namespace assay::cuda
