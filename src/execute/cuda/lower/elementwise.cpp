// Element-wise ops, as many as can be computed together, in one kernel.
#include <fmt/core.h>

#include "execute/cuda/chain.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

// The result lies like the largest operand, so that neither jumps about in memory.
Placement result_placement(const Lowering& lowering, const ChainText& text, ValueId result) {
  const Dims dims = lowering.dims(result);
  const Placement* largest = nullptr;
  for (const Placement& operand : text.operands) {
    const bool is_whole = broadcast(operand, dims).strides == operand.strides;
    std::int64_t repeated = 0;
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (operand.strides[i] == 0 && dims[i] != 1) ++repeated;
    if (is_whole && repeated == 0 && largest == nullptr) largest = &operand;
  }
  return largest == nullptr ? row_major_placement(lowering.type(result), dims)
                            : placement_like(*largest, lowering.type(result));
}

// Declares operand i: a group of elements, or one that all elements of the group share.
std::string declaration(const Walk& walk, const Placement& operand, std::size_t i,
                        std::int64_t width) {
  const std::string type = stored_type(operand.type);
  const std::string at = offset_text(walk, i + 1);
  const bool repeats = walk.lengths.empty() || walk.strides[i + 1].back() == 0;
  if (repeats || width == 1) return fmt::format("  const {0} g{1} = p{1}[{2}];\n", type, i, at);
  return fmt::format("  const Group<{0}, {1}> g{2} = *(const Group<{0}, {1}>*)(p{2} + {3});\n",
                     type, width, i, at);
}

std::string element(const Walk& walk, const Placement& operand, std::size_t i, std::int64_t width) {
  const bool repeats = walk.lengths.empty() || walk.strides[i + 1].back() == 0;
  const std::string at =
      repeats || width == 1 ? fmt::format("g{}", i) : fmt::format("g{}.at[j]", i);
  return fmt::format("    const {} a{} = {};\n", computed_type(operand.type), i,
                     loaded(operand.type, at));
}

}  // namespace

KernelText elementwise_kernel(const ChainText& text, const Placement& result) {
  std::vector<Placement> all = {result};
  all.insert(all.end(), text.operands.begin(), text.operands.end());
  const Walk walk = walk_over(all);
  const std::int64_t width = walk.vector_width(all);
  std::string parameters;
  std::string declarations;
  std::string elements;
  for (std::size_t i = 0; i < text.operands.size(); ++i) {
    parameters +=
        fmt::format("const {}* __restrict__ p{}, ", stored_type(text.operands[i].type), i);
    declarations += declaration(walk, text.operands[i], i, width);
    elements += element(walk, text.operands[i], i, width);
  }
  const std::string kernel = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}{to}* __restrict__ out) {{
  const {index} i = ({index})(blockIdx.x * {threads}ll + threadIdx.x) * {width};
  if (i >= {count}) return;
{coordinates}{declarations}  Group<{to}, {width}> result;
#pragma unroll
  for (int j = 0; j < {width}; ++j) {{
{elements}{statements}    result.at[j] = {value};
  }}
  *(Group<{to}, {width}>*)(out + {at}) = result;
}}
)",
      fmt::arg("parameters", parameters), fmt::arg("to", stored_type(result.type)),
      fmt::arg("index", walk.is_short() ? "int" : "long long"), fmt::arg("width", width),
      fmt::arg("threads", kBlockThreads), fmt::arg("count", walk.elements),
      fmt::arg("coordinates", coordinates_text(walk, "i")), fmt::arg("declarations", declarations),
      fmt::arg("elements", elements), fmt::arg("statements", text.statements),
      fmt::arg("value", stored(result.type, text.result)), fmt::arg("at", offset_text(walk, 0)));
  return {kernel, launch_for(walk.elements / width)};
}

bool lower_elementwise(Lowering& lowering, NodeId id) {
  if (!is_elementwise(lowering, lowering.node(id))) return false;
  const Chain chain = chain_from(lowering, id);
  const ChainText text = text_of(lowering, chain);
  const Placement result = lowering.in_new_buffer(result_placement(lowering, text, chain.result));
  lowering.set_placement(chain.result, result);
  for (const NodeId node : chain.nodes) lowering.cover(node);
  if (result.elements() == 0) return true;
  const KernelText kernel = elementwise_kernel(text, result);
  lowering.add_kernel_step({.nodes = chain.nodes,
                            .algorithm = "element-wise",
                            .executed_flops = text.flops,
                            .reads = text.operands,
                            .writes = {result}},
                           lowering.kernels().add(kernel.text), kernel.shape);
  return true;
}

void add_elementwise_lowering(LowerTable& table) {
  for (const char* op : {"Identity",
                         "Cast",
                         "CastLike",
                         "assay.ReluGradient",
                         "assay.GeluGradient",
                         "Add",
                         "Sub",
                         "Mul",
                         "Div",
                         "Sum",
                         "Mean",
                         "Min",
                         "Max",
                         "Pow",
                         "Mod",
                         "BitShift",
                         "And",
                         "Or",
                         "Xor",
                         "Not",
                         "BitwiseAnd",
                         "BitwiseOr",
                         "BitwiseXor",
                         "BitwiseNot",
                         "Equal",
                         "Less",
                         "LessOrEqual",
                         "Greater",
                         "GreaterOrEqual",
                         "Where",
                         "Neg",
                         "Abs",
                         "Sign",
                         "Relu",
                         "Exp",
                         "Log",
                         "Sqrt",
                         "Erf",
                         "Tanh",
                         "Sin",
                         "Cos",
                         "Tan",
                         "Asin",
                         "Acos",
                         "Atan",
                         "Sinh",
                         "Cosh",
                         "Asinh",
                         "Acosh",
                         "Atanh",
                         "Floor",
                         "Ceil",
                         "Round",
                         "Sigmoid",
                         "Softplus",
                         "Gelu",
                         "Clip",
                         "IsNaN",
                         "IsInf",
                         "Reciprocal",
                         "LeakyRelu",
                         "PRelu",
                         "Elu",
                         "Celu",
                         "Selu",
                         "ThresholdedRelu",
                         "HardSigmoid",
                         "HardSwish",
                         "Softsign",
                         "Mish",
                         "Shrink",
                         "DequantizeLinear",
                         "QuantizeLinear"})
    table[op] = lower_elementwise;
}

}  // namespace assay::cuda
