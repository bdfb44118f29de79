// Ops over the rows of a tensor: softmax, norms, reductions.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/checked.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/row_kernel.h"
#include "execute/cuda/walk.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

using kernels::normalized_axes;
using kernels::normalized_axis;

namespace {

std::vector<std::size_t> axes_from(std::size_t first, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

bool lower_softmax(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  if (!is_floating(x.type)) return false;
  const auto axis = normalized_axis(node.int_or("axis", -1), x.dims.size());
  if (!axis) return false;
  const Rows rows = rows_over(x.dims, {*axis});
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  const auto at = index_names(x.dims);
  const std::string type = computed_type(x.type);
  const std::string value = element_text(x, "in", at);
  const std::string result = node.is("LogSoftmax") ? fmt::format("{} - largest - log(sum)", value)
                                                   : fmt::format("exp({} - largest) / sum", value);
  const std::string body =
      fmt::format("  {} largest = {};\n", type, number_text(-INFINITY, type)) +
      each_text(rows, fmt::format("    largest = larger(largest, ({})({}));\n", type, value)) +
      "  largest = together<Larger, THREADS>(largest);\n" + fmt::format("  {} sum = 0;\n", type) +
      each_text(rows, fmt::format("    sum += exp({} - largest);\n", value)) +
      "  sum = together<Plus, THREADS>(sum);\n" + each_text(rows, epilogue.statements(result, at));
  constexpr std::int64_t kFlops = 5;
  add_row_step(lowering, id, rows, epilogue, {x}, parameter_text(x, "in"), body, kFlops);
  return true;
}

// Mean and 1 / deviation of a row of `value`, both of type float or double.
std::string moments_text(const Rows& rows, const std::string& type, const std::string& value,
                         float epsilon) {
  return fmt::format("  {} mean = 0;\n", type) +
         each_text(rows, fmt::format("    mean += {};\n", value)) +
         fmt::format("  mean = together<Plus, THREADS>(mean) / {};\n  {} square = 0;\n", rows.width,
                     type) +
         each_text(rows, fmt::format("    const {0} d = {1} - mean;\n    square += d * d;\n", type,
                                     value)) +
         fmt::format(
             "  const {0} scaled_by = ({0})1 / sqrt(together<Plus, THREADS>(square) / {1} + "
             "{2});\n",
             type, rows.width, number_text(epsilon, type));
}

constexpr std::int64_t kNormFlops = 7;

bool lower_layer_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.has_output(i) && lowering.is_read(node.outputs[i])) return false;
  const auto axis = normalized_axis(node.int_or("axis", -1), x.dims.size());
  if (!axis || !is_floating(x.type)) return false;
  const Rows rows = rows_over(x.dims, axes_from(*axis, x.dims.size()));
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  const auto at = index_names(x.dims);
  std::vector<Placement> reads = {x, broadcast(lowering.native(node.inputs[1]), x.dims)};
  std::string parameters = parameter_text(x, "in") + parameter_text(reads[1], "scale");
  const std::string value = element_text(x, "in", at);
  std::string result =
      fmt::format("({} - mean) * scaled_by * {}", value, element_text(reads[1], "scale", at));
  if (node.has_input(2)) {
    reads.push_back(broadcast(lowering.native(node.inputs[2]), x.dims));
    parameters += parameter_text(reads[2], "shift");
    result += " + " + element_text(reads[2], "shift", at);
  }
  const std::string body =
      moments_text(rows, computed_type(x.type), value, node.float_or("epsilon", 1e-5f)) +
      each_text(rows, epilogue.statements(result, at));
  add_row_step(lowering, id, rows, epilogue, reads, parameters, body, kNormFlops);
  return true;
}

bool lower_instance_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  if (x.dims.size() < 3 || !is_floating(x.type)) return false;
  const Rows rows = rows_over(x.dims, axes_from(2, x.dims.size()));
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  const auto at = index_names(x.dims);
  const std::vector<Placement> reads = {x, along_axis(lowering.native(node.inputs[1]), x.dims, 1),
                                        along_axis(lowering.native(node.inputs[2]), x.dims, 1)};
  const std::string value = element_text(x, "in", at);
  const std::string result =
      fmt::format("({} - mean) * scaled_by * {} + {}", value, element_text(reads[1], "scale", at),
                  element_text(reads[2], "shift", at));
  const std::string body =
      moments_text(rows, computed_type(x.type), value, node.float_or("epsilon", 1e-5f)) +
      each_text(rows, epilogue.statements(result, at));
  add_row_step(lowering, id, rows, epilogue, reads,
               parameter_text(reads[0], "in") + parameter_text(reads[1], "scale") +
                   parameter_text(reads[2], "shift"),
               body, kNormFlops);
  return true;
}

// How a reduction maps elements, combines them and finishes; `x` and `sum` are the numbers.
struct Reduction {
  const char* map = "x";
  const char* combine = "Plus";
  double start = 0;
  const char* finish = "sum";
  bool is_float_only = false;
};

std::optional<Reduction> reduction_of(const std::string& op) {
  static const std::map<std::string, Reduction> kTable = {
      {"ReduceSum", {}},
      {"ReduceMean", {.finish = "sum / WIDTH"}},
      {"GlobalAveragePool", {.finish = "sum / WIDTH", .is_float_only = true}},
      {"ReduceMax", {.combine = "Larger", .start = -INFINITY}},
      {"GlobalMaxPool", {.combine = "Larger", .start = -INFINITY, .is_float_only = true}},
      {"ReduceMin", {.combine = "Smaller", .start = INFINITY}},
      {"ReduceProd", {.combine = "Times", .start = 1}},
      {"ReduceL1", {.map = "(x < 0 ? -x : x)"}},
      {"ReduceL2", {.map = "x * x", .finish = "sqrt(sum)", .is_float_only = true}},
      {"ReduceSumSquare", {.map = "x * x"}},
      {"ReduceLogSum", {.finish = "log(sum)", .is_float_only = true}},
  };
  const auto found = kTable.find(op);
  return found == kTable.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::vector<std::size_t>> reduced_axes(const Lowering& lowering, const Node& node,
                                                     std::size_t rank) {
  if (node.op.starts_with("Global")) return axes_from(2, rank);
  const auto axes = lowering.integers(node, "axes", 1);
  if (!axes) return {};
  if (!axes->empty()) return normalized_axes(*axes, rank);
  if (node.int_or("noop_with_empty_axes", 0) != 0) return {};
  return axes_from(0, rank);
}

// The coordinates of a result, whose reduced axes are gone or of one element.
std::vector<std::string> reduced_coordinates(const Rows& rows, std::size_t rank) {
  std::vector<std::string> at;
  for (std::size_t axis = 0; axis < rows.dims.size(); ++axis) {
    const bool is_kept = std::ranges::find(rows.kept, axis) != rows.kept.end();
    if (is_kept) at.push_back(fmt::format("i{}", axis));
    if (!is_kept && rank == rows.dims.size()) at.emplace_back("0");
  }
  return at;
}

bool lower_reduction(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto what = reduction_of(node.op);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axes = reduced_axes(lowering, node, x.dims.size());
  if (!what || !axes) return false;
  const bool is_extreme = std::isinf(what->start);
  if (!is_floating(x.type) && (what->is_float_only || is_extreme)) return false;
  const Rows rows = rows_over(x.dims, *axes);
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  const std::string type = computed_type(x.type);
  const std::string body =
      fmt::format("  {} sum = {};\n", type, number_text(what->start, type)) +
      each_text(rows, fmt::format("    const {} x = {};\n    sum = {}::of(sum, ({})({}));\n", type,
                                  element_text(x, "in", index_names(x.dims)), what->combine, type,
                                  what->map)) +
      fmt::format("  sum = together<{}, THREADS>(sum);\n  if (threadIdx.x != 0) return;\n",
                  what->combine) +
      fmt::format("  const {} WIDTH = {};\n", type, rows.width) +
      epilogue.statements(fmt::format("({})({})", type, what->finish),
                          reduced_coordinates(rows, epilogue.result.dims.size()));
  add_row_step(lowering, id, rows, epilogue, {x}, parameter_text(x, "in"), body, 1);
  return true;
}

}  // namespace

void add_row_lowering(LowerTable& table) {
  table["Softmax"] = lower_softmax;
  table["LogSoftmax"] = lower_softmax;
  table["LayerNormalization"] = lower_layer_norm;
  table["InstanceNormalization"] = lower_instance_norm;
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "ReduceLogSum", "GlobalAveragePool", "GlobalMaxPool"})
    table[op] = lower_reduction;
}

}  // namespace assay::cuda
