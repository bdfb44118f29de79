// Normalisations and softmax, in FLOPs per element as docs/conventions.md writes them.
#include "base/checked.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

template <int FlopsPerElement>
Work per_element(const OpView& op) {
  return flops_only(saturating_multiply(FlopsPerElement, op.input_elements(0)));
}

// Scale and shift. In training the batch's mean and variance are computed too: 5 more.
Work batch_norm(const OpView& op) {
  const bool training = op.node().int_or("training_mode", 0) != 0;
  return flops_only(saturating_multiply(training ? 7 : 2, op.input_elements(0)));
}

// Mean (1), centre (1), variance (2), divide (1), then scale and shift where given.
template <std::size_t ScaleInput, std::size_t BiasInput>
Work mean_variance_norm(const OpView& op) {
  const int affine = (op.has_input(ScaleInput) ? 1 : 0) + (op.has_input(BiasInput) ? 1 : 0);
  return flops_only(saturating_multiply(5 + affine, op.input_elements(0)));
}

// Each element divides by a power of a windowed sum of squares.
Work local_response_norm(const OpView& op) {
  const std::int64_t window = std::max<std::int64_t>(1, op.node().int_or("size", 1));
  const std::int64_t per = saturating_add(saturating_multiply(2, window), 4);
  return flops_only(saturating_multiply(per, op.input_elements(0)));
}

}  // namespace

void add_normalization_costs(CostTable& table) {
  table["BatchNormalization"] = {batch_norm};
  table["LayerNormalization"] = {mean_variance_norm<1, 2>};
  table["InstanceNormalization"] = {mean_variance_norm<1, 2>};
  table["GroupNormalization"] = {mean_variance_norm<1, 2>};
  table["MeanVarianceNormalization"] = {per_element<5>};
  table["LRN"] = {local_response_norm};
  table["LpNormalization"] = {per_element<3>};
  table["Softmax"] = {per_element<5>};  // max, subtract, exp, sum, divide
  table["com.microsoft:QLinearSoftmax"] = {per_element<5>};
  table["LogSoftmax"] = {per_element<5>};  // max, subtract, exp, sum, subtract the logarithm
  table["Hardmax"] = {per_element<1>};
  table["SoftmaxCrossEntropyLoss"] = {per_element<5>};
  table["NegativeLogLikelihoodLoss"] = {per_element<1>};
  table["ai.onnx.ml:Scaler"] = {per_element<2>};
  table["ai.onnx.ml:Normalizer"] = {per_element<3>};
  table["com.microsoft:LayerNormalization"] = {mean_variance_norm<1, 2>};
  table["SimplifiedLayerNormalization"] = {per_element<4>};  // square, sum, divide, scale
  table["com.microsoft:SimplifiedLayerNormalization"] = {per_element<4>};
  table["com.microsoft:SkipLayerNormalization"] = {per_element<8>};
  table["com.microsoft:SkipSimplifiedLayerNormalization"] = {per_element<5>};
}

}  // namespace assay::cost
