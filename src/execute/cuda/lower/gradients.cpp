// Gradients of pools, norms, softmax and of what picks elements. No sum depends on the order in
// which threads run, so that training is the same every time.
#include <fmt/core.h>

#include "base/checked.h"
#include "execute/cuda/column_sums.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/moments_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/pool_view.h"
#include "execute/cuda/row_kernel.h"
#include "execute/cuda/walk.h"
#include "execute/cuda/window_text.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

using kernels::normalized_axis;

namespace {

// A thread for each element of the image adds `share` up over the windows that reach it, whose
// coordinates are in0, in1, in2.
std::string reaching_text(const PoolView& view, const std::string& type, const std::string& body) {
  kernels::WindowGrid image = view.grid;
  for (auto& axis : image.axes) axis.output = axis.input;
  PoolView pixels = view;
  pixels.grid = image;
  return fmt::format(
      R"({pixels}  {type} sum = 0;
#pragma unroll 1
  for (int tap = 0; tap < {taps}; ++tap) {{
{tap}{position}    if (!({inside})) continue;
{body}  }}
)",
      fmt::arg("pixels", pixels.pixels_text()), fmt::arg("type", type),
      fmt::arg("taps", view.grid.taps()), fmt::arg("tap", taps_text(view.grid, "tap")),
      fmt::arg("position", transposed_positions_text(view.grid)),
      fmt::arg("inside", transposed_inside_text(view.grid)), fmt::arg("body", body));
}

// The first kernel finds where each window has its greatest number.
bool lower_max_pool_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto view = pool_view_of(lowering, node, lowering.dims(node.inputs[0]));
  const Placement image = lowering.native(node.inputs[0]);
  const Placement gradient = lowering.native(node.inputs[1]);
  if (!view || gradient.elements() == 0 || !is_floating(image.type)) return false;
  const std::string type = computed_type(image.type);
  Epilogue windows;
  windows.result = lowering.in_new_buffer(layout_of(gradient)(DataType::Int32, gradient.dims));
  Operands operands(lowering);
  const std::string greatest =
      greatest_text(*view, type, "0", operands.element(image, view->image_at()));
  const KernelText find = indexed_kernel(windows, operands.parameters(), greatest, "place");
  KernelCall find_call{lowering.kernels().add(find.text), find.shape, operands.reads()};
  find_call.arguments.push_back(windows.result);

  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(gradient));
  Operands given(lowering);
  const auto at = image_coordinates(view->grid, "i0", "i1", "in");
  const auto& [depth, height, width] = view->grid.axes;
  const std::string pass = fmt::format("    if ({} == (out0 * {} + out1) * {} + out2) sum += {};\n",
                                       given.element(windows.result, at), height.input, width.input,
                                       given.element(gradient, at));
  const KernelText add =
      indexed_kernel(epilogue, given.parameters(), reaching_text(*view, type, pass), "sum");
  StepDraft draft =
      draft_with(epilogue, id, {image, gradient}, gradient.elements() * view->grid.taps() * 2);
  draft.algorithm = "own";
  draft.workspace = {windows.result.buffer};
  KernelCall add_call{lowering.kernels().add(add.text), add.shape, given.reads()};
  add_call.arguments.insert(add_call.arguments.end(), epilogue.text.operands.begin(),
                            epilogue.text.operands.end());
  add_call.arguments.push_back(epilogue.result);
  lowering.add_step(draft, binder_of(std::vector{find_call, add_call}));
  return true;
}

bool lower_average_pool_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto view = pool_view_of(lowering, node, lowering.dims(node.outputs[0]));
  const Placement gradient = lowering.native(node.inputs[0]);
  if (!view || gradient.elements() == 0 || !is_floating(gradient.type)) return false;
  const std::string type = computed_type(gradient.type);
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(gradient));
  Operands operands(lowering);
  const std::string share =
      operands.element(gradient, image_coordinates(view->grid, "i0", "i1", "in"));
  const std::string body = reaching_text(
      *view, type,
      view->count_text("in") + fmt::format("    sum += {} / ({})count;\n", share, type));
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body, "sum",
                   "own", gradient.elements() * view->grid.taps());
  return true;
}

// Inputs: the result, its gradient.
bool lower_softmax_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement result = lowering.native(node.inputs[0]);
  const Placement gradient = lowering.native(node.inputs[1]);
  const auto axis = normalized_axis(node.int_or("axis", -1), result.dims.size());
  if (!axis || !is_floating(result.type)) return false;
  const Rows rows = rows_over(result.dims, {*axis});
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(result));
  Operands operands(lowering);
  const auto at = index_names(result.dims);
  const std::string y = operands.element(result, at);
  const std::string g = operands.element(gradient, at);
  const std::string body =
      fmt::format("  {} sum = 0;\n", computed_type(result.type)) +
      each_text(rows, fmt::format("    sum += {} * {};\n", y, g)) +
      "  sum = together<Plus, THREADS>(sum);\n" +
      each_text(rows, epilogue.statements(fmt::format("{} * ({} - sum)", y, g), at));
  add_row_step(lowering, id, rows, epilogue, operands.reads(), operands.parameters(), body, 4);
  return true;
}

// Statements that declare `total` and `projected`, the sums over a row of g and of g · normalized.
std::string projections_text(const Rows& rows, const std::string& type, const std::string& value,
                             const std::string& gradient) {
  return fmt::format("  {} total = 0, projected = 0;\n", type) +
         each_text(rows,
                   fmt::format("    const {0} g = {1};\n    total += g;\n    projected += g * "
                               "(({2} - mean) * scaled_by);\n",
                               type, gradient, value)) +
         "  total = together<Plus, THREADS>(total);\n"
         "  projected = together<Plus, THREADS>(projected);\n";
}

std::string input_gradient_text(const Rows& rows, const std::string& value,
                                const std::string& gradient) {
  return fmt::format(
      "({0} - total / {2} - ({1} - mean) * scaled_by * (projected / {2})) * scaled_by", gradient,
      value, rows.width);
}

// The statistics of each row are kept for the sums over all rows, the gradients of scale and shift.
bool lower_layer_norm_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const Placement gradient = lowering.native(node.inputs[2]);
  const auto axis = normalized_axis(node.int_or("axis", -1), x.dims.size());
  if (!axis || !is_floating(x.type)) return false;
  std::vector<std::size_t> inner;
  std::vector<std::size_t> outer;
  for (std::size_t i = 0; i < x.dims.size(); ++i) (i < *axis ? outer : inner).push_back(i);
  const Rows rows = rows_over(x.dims, inner);
  const Rows columns = rows_over(x.dims, outer);
  if (!is_reasonable(rows) || !is_reasonable(columns)) return false;
  const DataType kept = x.type == DataType::Float64 ? DataType::Float64 : DataType::Float32;
  const Placement statistics = lowering.in_new_buffer(row_major_placement(kept, {rows.count, 2}));
  Epilogue epilogue = epilogue_of(lowering, id);
  epilogue.more.push_back(statistics);
  Operands operands(lowering);
  const std::string type = computed_type(x.type);
  const auto at = index_names(x.dims);
  const std::string value = operands.element(x, at);
  const std::string given = operands.element(gradient, at);
  const Placement scale = broadcast(lowering.native(node.inputs[1]), x.dims);
  const std::string scaled = fmt::format("{} * {}", given, operands.element(scale, at));
  const std::string body =
      moments_text(rows, type, value, node.float_or("epsilon", 1e-5f)) +
      "  if (threadIdx.x == 0) { more0[2 * blockIdx.x] = mean; more0[2 * blockIdx.x + 1] = "
      "scaled_by; }\n" +
      projections_text(rows, type, value, scaled) +
      each_text(rows,
                epilogue.statements(input_gradient_text(rows, value, "(" + scaled + ")"), at));
  add_row_step(lowering, id, rows, epilogue, operands.reads(), operands.parameters(), body,
               2 * kNormFlops);
  if (!node.has_output(1) && !node.has_output(2)) return true;

  Operands others(lowering);
  const std::string other_value = others.element(x, at);
  const std::string other_given = others.element(gradient, at);
  const std::string kept_at = others.pointer(statistics);
  std::string stores;
  StepDraft draft{.nodes = {id},
                  .algorithm = "own column sums",
                  .executed_flops = 4 * x.elements(),
                  .reads = others.reads()};
  for (std::size_t output = 1; output < 3; ++output) {
    if (!node.has_output(output)) continue;
    const Placement result = lowering.new_row_major(node.outputs[output]);
    lowering.set_placement(node.outputs[output], result);
    stores += fmt::format("  out{}[column] = {};\n", draft.writes.size(),
                          stored(result.type, output == 1 ? "sum1" : "sum0"));
    draft.writes.push_back(result);
  }
  const ColumnSums sums{
      .rows = columns,
      .are_columns_adjacent = are_columns_adjacent(x, columns),
      .type = type,
      .count = 2,
      .add = fmt::format("      const {0} g = {1};\n      sum0 += g;\n      sum1 += g * (({2} - "
                         "{3}[2 * j]) * {3}[2 * j + 1]);\n",
                         type, other_given, other_value, kept_at),
      .finish = stores};
  const auto calls =
      column_sum_calls(lowering, sums, others, Operands(lowering), draft.writes, draft);
  lowering.add_step(draft, binder_of(calls));
  return true;
}

// Inputs: the indices, the gradient. The first of equal indices adds the gradients of all up.
bool lower_gather_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement indices = lowering.row_major(node.inputs[0]);
  const Placement from = lowering.row_major(node.inputs[1]);
  const Dims dims = lowering.dims(node.outputs[0]);
  const auto axis = normalized_axis(node.int_or("axis", 0), dims.size());
  if (!axis || from.elements() == 0 || !is_floating(from.type)) return false;
  const std::int64_t picked = indices.elements();
  std::int64_t inner = 1;
  for (std::size_t i = *axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const Placement result = lowering.new_row_major(node.outputs[0]);
  lowering.set_placement(node.outputs[0], result);
  Operands operands(lowering);
  const std::string index = operands.pointer(indices);
  const std::string given = operands.pointer(from);
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}{stored}* __restrict__ out) {{
  const long long element = blockIdx.x * {threads}ll + threadIdx.x;
  if (element >= {count}) return;
  const long long column = element % {inner}, i = element / {inner} % {picked}, outer = element / {all};
  const long long row = inside({index}[i], {length});
  for (long long j = 0; j < i; ++j) if (inside({index}[j], {length}) == row) return;
  {type} sum = 0;
  for (long long j = i; j < {picked}; ++j)
    if (inside({index}[j], {length}) == row) sum += {given};
  out[(outer * {length} + row) * {inner} + column] = {value};
}}
)",
      fmt::arg("parameters", operands.parameters()), fmt::arg("stored", stored_type(result.type)),
      fmt::arg("threads", kBlockThreads), fmt::arg("count", from.elements()),
      fmt::arg("inner", inner), fmt::arg("picked", picked), fmt::arg("all", inner * picked),
      fmt::arg("index", index), fmt::arg("length", dims[*axis]),
      fmt::arg("type", computed_type(from.type)),
      fmt::arg("given", loaded(from.type, fmt::format("{}[(outer * {} + j) * {} + column]", given,
                                                      picked, inner))),
      fmt::arg("value", stored(result.type, "sum")));
  const KernelCall call{
      lowering.kernels().add(text), launch_for(from.elements()), {indices, from, result}};
  lowering.add_step({.nodes = {id},
                     .algorithm = "own",
                     .executed_flops = from.elements(),
                     .reads = {indices, from},
                     .writes = {result}},
                    [call, result](const Addresses& at) -> Runner {
                      return [add = binder_of(call)(at), to = at.of(result),
                              bytes = result.bytes()](const gpu::Stream& stream) {
                        stream.fill(to, 0, bytes);
                        add(stream);
                      };
                    });
  return true;
}

// `starts` and `steps` are given for every axis; what was not picked has no gradient.
bool lower_slice_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement from = lowering.native(node.inputs[0]);
  const Dims starts = node.ints_or("starts", {});
  const Dims steps = node.ints_or("steps", {});
  if (starts.size() != from.dims.size() || steps.size() != starts.size() || from.elements() == 0)
    return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  Operands operands(lowering);
  std::string body = "  bool is_picked = true;\n";
  std::vector<std::string> at;
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    at.push_back(fmt::format("at{}", axis));
    body += fmt::format(
        "  const int far{0} = i{0} - ({1}), at{0} = far{0} / ({2});\n  if (far{0} % ({2}) != 0 || "
        "at{0} < 0 || at{0} >= {3}) is_picked = false;\n",
        axis, starts[axis], steps[axis], from.dims[axis]);
  }
  const std::string sum =
      fmt::format("(is_picked ? {} : ({})0)", operands.element(from, at), computed_type(from.type));
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body, sum,
                   "own");
  return true;
}

}  // namespace

void add_gradient_lowering(LowerTable& table) {
  table["assay.MaxPoolGradient"] = lower_max_pool_gradient;
  table["assay.AveragePoolGradient"] = lower_average_pool_gradient;
  table["assay.SoftmaxGradient"] = lower_softmax_gradient;
  table["assay.LayerNormalizationGradient"] = lower_layer_norm_gradient;
  table["assay.GatherGradient"] = lower_gather_gradient;
  table["assay.SliceGradient"] = lower_slice_gradient;
}

}  // namespace assay::cuda
