// Ops over the rows of a tensor: softmax, norms, reductions.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/checked.h"
#include "execute/cuda/column_reduction.h"
#include "execute/cuda/column_sums.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/lower/few_rows_product.h"
#include "execute/cuda/moments_text.h"
#include "execute/cuda/row_kernel.h"
#include "execute/cuda/walk.h"
#include "execute/cuda/warp_norm.h"
#include "execute/cuda/warp_softmax.h"
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

// Before it, a softmax goes over all axes from the one that is named.
constexpr std::int64_t kFirstOpsetOfOneAxis = 13;

bool lower_softmax(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  if (!is_floating(x.type)) return false;
  const bool flattens = lowering.graph().opset() < kFirstOpsetOfOneAxis;
  const auto axis = normalized_axis(node.int_or("axis", flattens ? 1 : -1), x.dims.size());
  if (!axis) return false;
  const Rows rows =
      rows_over(x.dims, flattens ? axes_from(*axis, x.dims.size()) : std::vector{*axis});
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  if (add_warp_softmax(lowering, id, rows, epilogue)) return true;
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

// The mean and the inverse deviation of each row, where somebody reads them.
std::string statistics_text(Lowering& lowering, const Node& node, Epilogue& epilogue) {
  std::string text;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.has_output(i) || !lowering.is_read(node.outputs[i])) continue;
    const std::string name = epilogue.add_more(lowering, node.outputs[i]);
    text += fmt::format("  if (threadIdx.x == 0) {}[blockIdx.x] = {};\n", name,
                        stored(epilogue.more.back().type, i == 1 ? "mean" : "scaled_by"));
  }
  return text;
}

bool lower_layer_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axis = normalized_axis(node.int_or("axis", -1), x.dims.size());
  if (!axis || !is_floating(x.type)) return false;
  const Rows rows = rows_over(x.dims, axes_from(*axis, x.dims.size()));
  if (!is_reasonable(rows)) return false;
  if (lower_norm_and_product(lowering, id)) return true;
  Epilogue epilogue = epilogue_of(lowering, id);
  const std::string statistics = statistics_text(lowering, node, epilogue);
  if (statistics.empty() && add_warp_norm(lowering, id, rows, epilogue)) return true;
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
      statistics + each_text(rows, epilogue.statements(result, at));
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

// Sums of so many numbers that do not lie side by side that blocks add up parts of them.
bool adds_columns(const Reduction& what, const Placement& x, const Rows& rows) {
  constexpr std::int64_t kLeastWidth = 1024;
  return what.combine == std::string("Plus") && is_floating(x.type) && rows.width >= kLeastWidth &&
         are_columns_adjacent(x, rows);
}

void add_long_sums(Lowering& lowering, NodeId id, const Reduction& what, const Placement& x,
                   const Rows& rows) {
  const Epilogue epilogue = epilogue_of(lowering, id);
  const std::string type = computed_type(x.type);
  Operands adding(lowering);
  Operands finishing(lowering);
  // What follows in the epilogue reads its operands by their own names.
  std::string operands;
  for (std::size_t i = 0; i < epilogue.text.operands.size(); ++i)
    operands +=
        fmt::format("  const auto* e{} = {};\n", i, finishing.pointer(epilogue.text.operands[i]));
  const ColumnSums sums{
      .rows = rows,
      .are_columns_adjacent = true,
      .type = type,
      .add = fmt::format("      const {0} x = {1};\n      sum0 += {2};\n", type,
                         adding.element(x, index_names(x.dims)), what.map),
      .finish = fmt::format("{}  auto* out = out0;\n  const {} sum = ({})sum0, WIDTH = {};\n",
                            operands, type, type, rows.width) +
                epilogue.statements(fmt::format("({})({})", type, what.finish),
                                    reduced_coordinates(rows, epilogue.result.dims.size()))};
  StepDraft draft = draft_with(epilogue, id, {x}, x.elements());
  draft.algorithm = "own column sums";
  const auto calls = column_sum_calls(lowering, sums, adding, finishing, {epilogue.result}, draft);
  lowering.add_step(draft, binder_of(calls));
}

bool lower_reduction(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto what = reduction_of(node.op);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axes = reduced_axes(lowering, node, x.dims.size());
  if (!what || !axes) return false;
  if (!is_floating(x.type) && what->is_float_only) return false;
  const Rows rows = rows_over(x.dims, *axes);
  if (!is_reasonable(rows)) return false;
  if (adds_columns(*what, x, rows)) {
    add_long_sums(lowering, id, *what, x, rows);
    return true;
  }
  const Epilogue epilogue = epilogue_of(lowering, id);
  const auto at = reduced_coordinates(rows, epilogue.result.dims.size());
  if (add_column_reduction(lowering, id, rows, x, *what, epilogue, at)) return true;
  const std::string type = computed_type(x.type);
  const std::string body =
      fmt::format("  {} sum = {};\n", type, start_text(*what, x.type)) +
      each_text(rows, fmt::format("    const {} x = {};\n    sum = {}::of(sum, ({})({}));\n", type,
                                  element_text(x, "in", index_names(x.dims)), what->combine, type,
                                  what->map)) +
      fmt::format("  sum = together<{}, THREADS>(sum);\n  if (threadIdx.x != 0) return;\n",
                  what->combine) +
      fmt::format("  const {} WIDTH = {};\n", type, rows.width) +
      epilogue.statements(fmt::format("({})({})", type, what->finish), at);
  add_row_step(lowering, id, rows, epilogue, {x}, parameter_text(x, "in"), body, 1);
  return true;
}

// The greatest is taken out first, so that no exponential overflows.
bool lower_log_sum_exp(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axes = reduced_axes(lowering, node, x.dims.size());
  if (!axes || !is_floating(x.type)) return false;
  const Rows rows = rows_over(x.dims, *axes);
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  const std::string type = computed_type(x.type);
  const std::string value = element_text(x, "in", index_names(x.dims));
  const std::string body =
      fmt::format("  {} largest = {};\n", type, number_text(-INFINITY, type)) +
      each_text(rows, fmt::format("    largest = larger(largest, {});\n", value)) +
      fmt::format(
          "  largest = together<Larger, THREADS>(largest);\n  if (isinf(largest)) largest = 0;\n  "
          "{} sum = 0;\n",
          type) +
      each_text(rows, fmt::format("    sum += exp({} - largest);\n", value)) +
      "  sum = together<Plus, THREADS>(sum);\n  if (threadIdx.x != 0) return;\n" +
      epilogue.statements("largest + log(sum)",
                          reduced_coordinates(rows, epilogue.result.dims.size()));
  add_row_step(lowering, id, rows, epilogue, {x}, parameter_text(x, "in"), body, 3);
  return true;
}

// Statements that declare `best`, the place of the best element along the only axis of a row:
// the first or the last of equal ones. Only a NaN that comes first is ever the best.
std::string best_text(const Rows& rows, const Placement& x, bool is_greatest, bool takes_last) {
  auto at = index_names(x.dims);
  const std::string type = computed_type(x.type);
  const std::string value = element_text(x, "in", at);
  at[rows.reduced[0]] = "0";
  const std::string combine = is_greatest ? "Larger" : "Smaller";
  return fmt::format("  const {0} first = {1};\n  {0} extreme = first;\n  int best = 0;\n", type,
                     element_text(x, "in", at)) +
         each_text(rows,
                   fmt::format("    const {} x = {};\n    if (x {} extreme{}) {{ extreme = x; "
                               "best = j; }}\n",
                               type, value, is_greatest ? ">" : "<",
                               takes_last ? " || x == extreme" : "")) +
         fmt::format("  const {} all = together<{}, THREADS>(extreme);\n", type, combine) +
         fmt::format("  best = together<{}, THREADS>(extreme == all ? best : {});\n",
                     takes_last ? "Larger" : "Smaller", takes_last ? "-1" : "2147483647") +
         "  if (first != first) best = 0;\n";
}

bool lower_place_of_best(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axis = normalized_axis(node.int_or("axis", 0), x.dims.size());
  if (!axis || x.type == DataType::Bool) return false;
  const Rows rows = rows_over(x.dims, {*axis});
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  const std::string body =
      best_text(rows, x, node.is("ArgMax"), node.int_or("select_last_index", 0) != 0) +
      "  if (threadIdx.x != 0) return;\n" +
      epilogue.statements("(long long)best",
                          reduced_coordinates(rows, epilogue.result.dims.size()));
  add_row_step(lowering, id, rows, epilogue, {x}, parameter_text(x, "in"), body, 1);
  return true;
}

bool lower_hardmax(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axis = normalized_axis(node.int_or("axis", -1), x.dims.size());
  if (!axis || !is_floating(x.type) || lowering.graph().opset() < kFirstOpsetOfOneAxis)
    return false;
  const Rows rows = rows_over(x.dims, {*axis});
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  const std::string result = fmt::format("({})(j == best ? 1 : 0)", computed_type(x.type));
  const std::string body = best_text(rows, x, true, false) +
                           each_text(rows, epilogue.statements(result, index_names(x.dims)));
  add_row_step(lowering, id, rows, epilogue, {x}, parameter_text(x, "in"), body, 1);
  return true;
}

}  // namespace

void add_row_lowering(LowerTable& table) {
  table["Softmax"] = lower_softmax;
  table["LogSoftmax"] = lower_softmax;
  table["LayerNormalization"] = lower_layer_norm;
  table["InstanceNormalization"] = lower_instance_norm;
  table["ReduceLogSumExp"] = lower_log_sum_exp;
  table["ArgMax"] = lower_place_of_best;
  table["ArgMin"] = lower_place_of_best;
  table["Hardmax"] = lower_hardmax;
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "ReduceLogSum", "GlobalAveragePool", "GlobalMaxPool"})
    table[op] = lower_reduction;
}

}  // namespace assay::cuda
