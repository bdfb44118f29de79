// Element-wise ops: one FLOP for every output element, whatever the function.
#include "base/checked.h"
#include "cost/bias.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

template <int FlopsPerElement>
Work per_output(const OpView& op) {
  return flops_only(saturating_multiply(FlopsPerElement, op.output_elements()));
}

Work add(const OpView& op) {
  if (is_bias_add(op)) return {.bias_flops = op.output_elements()};
  return per_output<1>(op);
}

// n operands take n − 1 steps; a mean also divides.
template <int Extra>
Work variadic(const OpView& op) {
  const auto operands = static_cast<std::int64_t>(op.node().inputs.size());
  return flops_only(saturating_multiply(operands - 1 + Extra, op.output_elements()));
}

constexpr std::string_view kOnePerElement[] = {
    // arithmetic
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Mod",
    "Neg",
    "Abs",
    "Sqrt",
    "Exp",
    "Log",
    "Reciprocal",
    "Sign",
    "Floor",
    "Ceil",
    "Round",
    "Erf",
    "PRelu",
    // trigonometry
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
    // activations
    "Relu",
    "LeakyRelu",
    "Elu",
    "Celu",
    "Selu",
    "Sigmoid",
    "HardSigmoid",
    "HardSwish",
    "Tanh",
    "Softplus",
    "Softsign",
    "ThresholdedRelu",
    "Clip",
    "Gelu",
    "Mish",
    "Shrink",
    // comparisons and logic
    "Equal",
    "Less",
    "LessOrEqual",
    "Greater",
    "GreaterOrEqual",
    "And",
    "Or",
    "Xor",
    "Not",
    "IsNaN",
    "IsInf",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "BitwiseNot",
    "BitShift",
    "Where",
    // random
    "Bernoulli",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Multinomial",
    // others
    "CumSum",
    "ai.onnx.ml:Binarizer",
    "ai.onnx.ml:Imputer",
    "com.microsoft:Gelu",
    "com.microsoft:FastGelu",
    "com.microsoft:QuickGelu",
    "com.microsoft:QLinearSigmoid",
    "com.microsoft:QLinearLeakyRelu",
    "com.microsoft:QLinearAdd",
    "com.microsoft:QLinearMul",
};

}  // namespace

void add_elementwise_costs(CostTable& table) {
  for (const auto op : kOnePerElement) table[op] = {per_output<1>};
  table["Add"] = {add};
  table["Sum"] = {variadic<0>};
  table["Max"] = {variadic<0>};
  table["Min"] = {variadic<0>};
  table["Mean"] = {variadic<1>};
  table["QuantizeLinear"] = {per_output<2>};         // divide, add the zero point
  table["DequantizeLinear"] = {per_output<2>};       // subtract the zero point, multiply
  table["DynamicQuantizeLinear"] = {per_output<4>};  // minimum, maximum, divide, add
  table["com.microsoft:QuantizeLinear"] = {per_output<2>};
  table["com.microsoft:DequantizeLinear"] = {per_output<2>};
  table["com.microsoft:BiasGelu"] = {per_output<2>};
}

}  // namespace assay::cost
