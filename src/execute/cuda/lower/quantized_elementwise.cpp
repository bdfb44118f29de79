// Quantised ops of com.microsoft that stand for one float op, and DynamicQuantizeLinear: operands
// are dequantised, the op is computed in double, and its result is quantised once.
#include <fmt/core.h>

#include "base/checked.h"
#include "execute/cuda/expressions.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/quantized_text.h"
#include "execute/cuda/row_kernel.h"
#include "kernels/quantization.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

namespace {

// One thread for each number of the result, an expression.
bool add_quantized_step(Lowering& lowering, NodeId id, const Epilogue& epilogue,
                        const Operands& operands, const std::string& number) {
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), "", number,
                   "own");
  return true;
}

bool lower_quantized_binary(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_one_number(lowering, node, {1, 2}) || !is_one_number(lowering, node, {4, 5}) ||
      !is_one_number(lowering, node, {6, 7}))
    return false;
  const DataType type = lowering.type(node.outputs[0]);
  const Dims dims = lowering.dims(node.outputs[0]);
  const Placement a = lowering.native(node.inputs[0]);
  const Placement b = lowering.native(node.inputs[3]);
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(a.dims == dims ? a : b));
  Operands operands(lowering);
  const auto at = index_names(dims);
  const std::string left =
      dequantized_text(operands, node, {1, 2}, operands.element(broadcast(a, dims), at));
  const std::string right =
      dequantized_text(operands, node, {4, 5}, operands.element(broadcast(b, dims), at));
  const std::string real = left + (node.op == "QLinearAdd" ? " + " : " * ") + right;
  const std::string number = quantized_text(operands, node, {6, 7}, type, real);
  return add_quantized_step(lowering, id, epilogue, operands, number);
}

bool lower_quantized_unary(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_one_number(lowering, node, {1, 2}) || !is_one_number(lowering, node, {3, 4}))
    return false;
  const DataType type = lowering.type(node.outputs[0]);
  const Placement from = lowering.native(node.inputs[0]);
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(from));
  Operands operands(lowering);
  const std::string given =
      dequantized_text(operands, node, {1, 2}, operands.element(from, index_names(from.dims)));
  const Node op{.name = "",
                .op = node.op.substr(std::string_view("QLinear").size()),
                .domain = "",
                .attributes = node.attributes};
  const std::string real = operation_of(op, {given}, "double")->expression;
  const std::string number = quantized_text(operands, node, {3, 4}, type, real);
  return add_quantized_step(lowering, id, epilogue, operands, number);
}

// One kernel for each part, which is quantised into its place.
bool lower_quantized_concat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const DataType type = lowering.type(node.outputs[0]);
  const Dims dims = lowering.dims(node.outputs[0]);
  const auto axis = kernels::normalized_axis(node.int_or("axis", 1), dims.size());
  constexpr std::size_t kFirst = 2;
  if (!axis || node.inputs.size() < kFirst + 3 || !is_one_number(lowering, node, {0, 1}))
    return false;
  for (std::size_t i = kFirst; i + 2 < node.inputs.size(); i += 3)
    if (!is_one_number(lowering, node, {i + 1, i + 2})) return false;
  const Placement result =
      lowering.in_new_buffer(layout_of(lowering.native(node.inputs[kFirst]))(type, dims));
  StepDraft draft{.nodes = {id}, .algorithm = "own", .writes = {result}};
  std::vector<KernelCall> calls;
  Epilogue part;
  part.result = result;
  for (std::size_t i = kFirst; i + 2 < node.inputs.size(); i += 3) {
    const Placement from = lowering.native(node.inputs[i]);
    part.result.dims = from.dims;
    Operands operands(lowering);
    const std::string real = dequantized_text(operands, node, {i + 1, i + 2},
                                              operands.element(from, index_names(from.dims)));
    const std::string number = quantized_text(operands, node, {0, 1}, type, real);
    if (from.elements() > 0) {
      const KernelText kernel = indexed_kernel(part, operands.parameters(), "", number);
      KernelCall call{lowering.kernels().add(kernel.text), kernel.shape, operands.reads()};
      call.arguments.push_back(part.result);
      calls.push_back(call);
      draft.reads.insert(draft.reads.end(), operands.reads().begin(), operands.reads().end());
    }
    part.result.offset += from.dims[*axis] * result.strides[*axis];
  }
  lowering.set_placement(node.outputs[0], result);
  if (!calls.empty()) lowering.add_step(draft, binder_of(calls));
  return true;
}

// Rounded down like ONNX Runtime, whose operator this is: the reciprocal of the result's scale.
bool lower_quantized_softmax(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement from = lowering.native(node.inputs[0]);
  const auto axis = kernels::normalized_axis(node.int_or("axis", -1), from.dims.size());
  const auto scale = lowering.number(node.inputs[3]);
  constexpr std::int64_t kFirstOpsetOfOneAxis = 13;
  if (!axis || !scale || !is_one_number(lowering, node, {1, 2}) ||
      !is_one_number(lowering, node, {3, 4}) ||
      node.int_or("opset", kFirstOpsetOfOneAxis) < kFirstOpsetOfOneAxis)
    return false;
  const Rows rows = rows_over(from.dims, {*axis});
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(from));
  Operands operands(lowering);
  const auto at = index_names(from.dims);
  const std::string value = dequantized_text(operands, node, {1, 2}, operands.element(from, at));
  const double steps = static_cast<double>(kernels::whole_reciprocal(static_cast<float>(*scale)));
  const std::string real =
      fmt::format("exp({} - largest) / sum * {}", value, number_text(steps * *scale, "double"));
  const std::string number =
      quantized_text(operands, node, {3, 4}, lowering.type(node.outputs[0]), real);
  const std::string body =
      fmt::format("  double largest = {};\n", number_text(-INFINITY, "double")) +
      each_text(rows, fmt::format("    largest = larger(largest, {});\n", value)) +
      "  largest = together<Larger, THREADS>(largest);\n  double sum = 0;\n" +
      each_text(rows, fmt::format("    sum += exp({} - largest);\n", value)) +
      "  sum = together<Plus, THREADS>(sum);\n" + each_text(rows, epilogue.statements(number, at));
  constexpr std::int64_t kFlops = 5;
  add_row_step(lowering, id, rows, epilogue, operands.reads(), operands.parameters(), body, kFlops);
  return true;
}

bool lower_quantized_global_pool(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement from = lowering.native(node.inputs[0]);
  const std::size_t rank = from.dims.size();
  if (rank < 3 || !is_one_number(lowering, node, {1, 2}) || !is_one_number(lowering, node, {3, 4}))
    return false;
  const bool is_channels_last = node.int_or("channels_last", 0) != 0;
  std::vector<std::size_t> spatial;
  std::vector<std::string> at = {"i0"};
  for (std::size_t axis = is_channels_last ? 1 : 2; spatial.size() < rank - 2; ++axis)
    spatial.push_back(axis);
  if (!is_channels_last) at.emplace_back("i1");
  at.resize(at.size() + spatial.size(), "0");
  if (is_channels_last) at.push_back(fmt::format("i{}", rank - 1));
  const Rows rows = rows_over(from.dims, spatial);
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  Operands operands(lowering);
  const std::string value =
      dequantized_text(operands, node, {1, 2}, operands.element(from, index_names(from.dims)));
  const std::string number = quantized_text(operands, node, {3, 4}, lowering.type(node.outputs[0]),
                                            fmt::format("sum / {}.0", rows.width));
  const std::string body =
      "  double sum = 0;\n" + each_text(rows, fmt::format("    sum += {};\n", value)) +
      "  sum = together<Plus, THREADS>(sum);\n  if (threadIdx.x != 0) return;\n" +
      epilogue.statements(number, at);
  add_row_step(lowering, id, rows, epilogue, operands.reads(), operands.parameters(), body, 1);
  return true;
}

// The first kernel finds the range of each part, the second that of all parts, and quantises.
constexpr const char* kDynamicRange = R"(
extern "C" __global__ void KERNEL({parameters}float* __restrict__ ends) {{
  float low = 0, high = 0;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < {count}; i += {blocks} * 256ll) {{
    const float x = {element};
    low = x < low ? x : low;
    high = x > high ? x : high;
  }}
  low = together<Smaller, 256>(low);
  high = together<Larger, 256>(high);
  if (threadIdx.x == 0) {{ ends[2 * blockIdx.x] = low; ends[2 * blockIdx.x + 1] = high; }}
}}
)";
constexpr const char* kDynamicQuantize = R"(
extern "C" __global__ void KERNEL({parameters}const float* __restrict__ ends, unsigned char* __restrict__ out,
    float* __restrict__ scale_out, unsigned char* __restrict__ zero_out) {{
  float low = 0, high = 0;
  for (int i = threadIdx.x; i < {blocks}; i += 256) {{
    low = ends[2 * i] < low ? ends[2 * i] : low;
    high = ends[2 * i + 1] > high ? ends[2 * i + 1] : high;
  }}
  low = together<Smaller, 256>(low);
  high = together<Larger, 256>(high);
  const float scale = high != low ? (float)((double)high - (double)low) / 255.0f : 1.0f;
  const float zero = limited(rintf(-low / scale), 0.0f, 255.0f);
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < {count}; i += {blocks} * 256ll)
    out[i] = whole<unsigned char>(rint((double)({element} / scale)) + zero);
  if (blockIdx.x == 0 && threadIdx.x == 0) {{ *scale_out = scale; *zero_out = (unsigned char)zero; }}
}}
)";

bool lower_dynamic_quantization(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement from = lowering.row_major(node.inputs[0]);
  if (from.type != DataType::Float32 || from.elements() == 0 || node.outputs.size() < 3)
    return false;
  constexpr std::int64_t kMostBlocks = 256;
  const std::int64_t blocks =
      std::min(kMostBlocks, (from.elements() + kBlockThreads - 1) / kBlockThreads);
  const Placement ends =
      lowering.in_new_buffer(row_major_placement(DataType::Float32, {2 * blocks}));
  std::vector<Placement> results;
  const Dims whole = lowering.dims(node.outputs[0]);
  results.push_back(lowering.in_new_buffer(row_major_placement(DataType::UInt8, whole)));
  results.push_back(lowering.in_new_buffer(row_major_placement(DataType::Float32, {})));
  results.push_back(lowering.in_new_buffer(row_major_placement(DataType::UInt8, {})));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (node.has_output(i)) lowering.set_placement(node.outputs[i], results[i]);
  Operands operands(lowering);
  const std::string element = operands.pointer(from) + "[i]";
  const auto add = [&](const char* text) {
    return lowering.kernels().add(
        fmt::format(fmt::runtime(text), fmt::arg("parameters", operands.parameters()),
                    fmt::arg("count", from.elements()), fmt::arg("blocks", blocks),
                    fmt::arg("element", element)),
        true);
  };
  const gpu::Launch shape{.blocks = {static_cast<unsigned>(blocks), 1, 1},
                          .threads = kBlockThreads};
  const std::vector<KernelCall> calls = {
      {add(kDynamicRange), shape, {from, ends}},
      {add(kDynamicQuantize), shape, {from, ends, results[0], results[1], results[2]}}};
  constexpr std::int64_t kFlops = 5;
  lowering.add_step({.nodes = {id},
                     .algorithm = "own",
                     .executed_flops = kFlops * from.elements(),
                     .reads = {from},
                     .writes = results,
                     .workspace = {ends.buffer}},
                    binder_of(calls));
  return true;
}

}  // namespace

void add_quantized_elementwise_lowering(LowerTable& table) {
  table["com.microsoft.QLinearAdd"] = lower_quantized_binary;
  table["com.microsoft.QLinearMul"] = lower_quantized_binary;
  table["com.microsoft.QLinearSigmoid"] = lower_quantized_unary;
  table["com.microsoft.QLinearLeakyRelu"] = lower_quantized_unary;
  table["com.microsoft.QLinearConcat"] = lower_quantized_concat;
  table["com.microsoft.QLinearSoftmax"] = lower_quantized_softmax;
  table["com.microsoft.QLinearGlobalAveragePool"] = lower_quantized_global_pool;
  table["DynamicQuantizeLinear"] = lower_dynamic_quantization;
}

}  // namespace assay::cuda
