// Backward passes. A convolution's two gradients take as many MACs as itself; the others a few
// FLOPs for every element.
#include "base/checked.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

// One MAC for every element of the gradient and every weight that made it.
Work convolution_macs(std::int64_t gradient_elements, const std::vector<std::int64_t>& weight) {
  if (weight.empty()) return {};  // a weight without axes is invalid, and refused at run time
  return macs_only(saturating_multiply(gradient_elements, product(std::span(weight).subspan(1))));
}

Work input_gradient(const OpView& op) {
  return convolution_macs(op.input_elements(0), op.input_dims(1));
}

// The bias gets one addition for every element of the gradient.
Work weight_gradient(const OpView& op) {
  Work work = convolution_macs(op.input_elements(1), op.output_dims(0));
  if (op.node().has_output(1)) work.bias_flops = op.input_elements(1);
  return work;
}

template <int FlopsPerElement>
Work each_parameter(const OpView& op) {
  return flops_only(saturating_multiply(FlopsPerElement, op.input_elements(2)));
}

// Comparing and adding, or dividing and adding, for every element of every window.
template <std::size_t Gradient>
Work window_gradients(const OpView& op) {
  const std::int64_t window = product(op.node().ints_or("kernel_shape", {}));
  return flops_only(
      saturating_multiply(2, saturating_multiply(op.input_elements(Gradient), window)));
}

template <int FlopsPerElement>
Work each(const OpView& op) {
  return flops_only(saturating_multiply(FlopsPerElement, op.output_elements()));
}

template <std::size_t Gradient>
Work additions(const OpView& op) {
  return flops_only(op.input_elements(Gradient));
}

}  // namespace

void add_gradient_costs(CostTable& table) {
  table["assay:ConvInputGradient"] = {input_gradient};
  table["assay:ConvWeightGradient"] = {weight_gradient};
  // A parameter is multiplied, added to, divided, …: as docs/conventions.md lists it.
  table["assay:Sgd"] = {each_parameter<2>};
  table["assay:Momentum"] = {each_parameter<4>};
  table["assay:Adam"] = {each_parameter<12>};
  table["assay:MaxPoolGradient"] = {window_gradients<1>};
  table["assay:AveragePoolGradient"] = {window_gradients<0>};
  // Mean, variance, normalised values, two sums, two products: a forward and a backward pass.
  table["assay:BatchNormalizationGradient"] = {each<14>};
  table["assay:LayerNormalizationGradient"] = {each<14>};
  table["assay:ReluGradient"] = {each<1>};
  table["assay:GeluGradient"] = {each<10>};
  table["assay:SoftmaxGradient"] = {each<4>};
  table["assay:GatherGradient"] = {additions<1>};
  table["assay:SliceGradient"] = {};
  table["assay:Dropout"] = {each<2>};  // a random number and a product
  table["assay:LikelihoodGradient"] = {each<1>};
  table["assay:SoftmaxCrossEntropyGradient"] = {each<6>};
}

}  // namespace assay::cost
