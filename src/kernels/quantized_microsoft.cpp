// Quantised ops of com.microsoft that stand for one float op: their operands are dequantised, the
// float op is evaluated in double, and its result is quantised once.
#include <algorithm>

#include "kernels/families.h"
#include "kernels/movement.h"
#include "kernels/quantization.h"

namespace assay::kernels {

namespace {

constexpr std::string_view kPrefix = "QLinear";
constexpr std::int64_t kFloatOpset = 19;

// The float op in the name of the quantised one, with the same attributes.
Node float_op(const KernelCall& call) {
  return Node{.name = call.node.name,
              .op = call.node.op.substr(kPrefix.size()),
              .domain = "",
              .attributes = call.node.attributes};
}

Tensor float_result(const KernelCall& call, const std::vector<Tensor>& inputs) {
  return evaluate(float_op(call), inputs, kFloatOpset).front();
}

std::vector<Tensor> quantized_unary(const KernelCall& call) {
  const Tensor result = float_result(call, {dequantized_input(call, 0)});
  return {quantized_result(call, call.input(0).type(), result, 3)};
}

std::vector<Tensor> quantized_binary(const KernelCall& call) {
  const Tensor result =
      float_result(call, {dequantized_input(call, 0), dequantized_input(call, 3)});
  return {quantized_result(call, call.input(0).type(), result, 6)};
}

// ONNX Runtime, whose operator this is, rounds the reciprocal of the result's scale down.
Tensor as_with_whole_reciprocal(const KernelCall& call, const Tensor& result) {
  const double scale = one_number(call, 3);
  const auto steps = static_cast<double>(whole_reciprocal(static_cast<float>(scale)));
  std::vector<double> numbers = result.to_double();
  for (double& number : numbers) number *= steps * scale;
  return Tensor::of<double>(DataType::Float64, result.dims(), numbers);
}

// Before opset 13, which an attribute names, all axes from `axis` on are one.
std::vector<Tensor> quantized_softmax(const KernelCall& call) {
  Node op = float_op(call);
  if (op.find("axis") == nullptr) op.attributes.push_back({"axis", std::int64_t{-1}});
  const std::vector<Tensor> inputs = {dequantized_input(call, 0)};
  const Tensor result = evaluate(op, inputs, call.node.int_or("opset", kFloatOpset)).front();
  return {quantized_result(call, call.input(0).type(), as_with_whole_reciprocal(call, result), 3)};
}

// After the result's scale and zero point come triples: tensor, scale, zero point.
std::vector<Tensor> quantized_concat(const KernelCall& call) {
  constexpr std::size_t kFirst = 2;
  if (call.inputs.size() < kFirst + 3 || (call.inputs.size() - kFirst) % 3 != 0)
    call.fail("needs a tensor, a scale and a zero point for each part");
  std::vector<Tensor> parts;
  for (std::size_t i = kFirst; i < call.inputs.size(); i += 3)
    parts.push_back(dequantized_input(call, i));
  return {quantized_result(call, call.input(kFirst).type(), float_result(call, parts), 0)};
}

// (batch, spatial…, channels) as (batch, channels, spatial…).
Tensor channels_first(const KernelCall& call, const Tensor& tensor) {
  const auto rank = static_cast<std::int64_t>(tensor.dims().size());
  if (rank < 2) call.fail("needs batch and channels, got rank {}", rank);
  Dims order = {0, rank - 1};
  for (std::int64_t axis = 1; axis < rank - 1; ++axis) order.push_back(axis);
  return transposed(call, tensor, order);
}

Tensor channels_last(const KernelCall& call, const Tensor& tensor) {
  const auto rank = static_cast<std::int64_t>(tensor.dims().size());
  Dims order = {0};
  for (std::int64_t axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return transposed(call, tensor, order);
}

std::vector<Tensor> quantized_pool(const KernelCall& call) {
  const Tensor input = dequantized_input(call, 0);
  const bool is_channels_last = call.node.int_or("channels_last", 0) != 0;
  const Tensor result = is_channels_last
                            ? channels_last(call, float_result(call, {channels_first(call, input)}))
                            : float_result(call, {input});
  return {quantized_result(call, call.input(0).type(), result, 3)};
}

}  // namespace

void add_quantized_microsoft_kernels(KernelTable& table) {
  table["QLinearAdd"] = quantized_binary;
  table["QLinearMul"] = quantized_binary;
  table["QLinearSigmoid"] = quantized_unary;
  table["QLinearLeakyRelu"] = quantized_unary;
  table["QLinearSoftmax"] = quantized_softmax;
  table["QLinearConcat"] = quantized_concat;
  table["QLinearAveragePool"] = quantized_pool;
  table["QLinearGlobalAveragePool"] = quantized_pool;
}

}  // namespace assay::kernels
