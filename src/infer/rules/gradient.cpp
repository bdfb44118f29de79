// The ops of backward passes. Where a shape does not follow from the inputs, an attribute tells it.
#include "infer/rules.h"

namespace assay {

namespace {

Shape shape_from(const InferContext& context, const char* attribute) {
  const Dims dims = context.node().ints_or(attribute, {});
  for (const std::int64_t dim : dims) {
    if (dim < 0) context.fail("{} holds {}", attribute, dim);
  }
  return Shape(dims);
}

template <std::size_t Input>
void as_input_dims(InferContext& context) {
  context.set(0, context.element(Input), shape_from(context, "input_dims"));
}

void as_weight_dims(InferContext& context) {
  const Shape weight = shape_from(context, "weight_dims");
  context.set(0, context.element(0), weight);
  if (context.output_count() > 1 && weight.rank() > 0) {
    context.set(1, context.element(0), Shape{weight.values()[0]});
  }
}

// Gradients of input, scale and bias.
void normalization_gradient(InferContext& context) {
  context.set(0, context.type(0));
  for (std::size_t output = 1; output < context.output_count(); ++output) {
    context.set(output, context.type(1));
  }
}

}  // namespace

void add_gradient_rules(RuleTable& table) {
  add_optimizer_rules(table);
  table["ConvInputGradient"] = as_input_dims<0>;
  table["ConvWeightGradient"] = as_weight_dims;
  table["MaxPoolGradient"] = same_as_input;
  table["AveragePoolGradient"] = as_input_dims<0>;
  table["BatchNormalizationGradient"] = normalization_gradient;
  table["LayerNormalizationGradient"] = normalization_gradient;
  table["ReluGradient"] = same_as_input;
  table["GeluGradient"] = same_as_input;
  table["SoftmaxGradient"] = same_as_input;
  table["GatherGradient"] = as_input_dims<1>;
  table["SliceGradient"] = as_input_dims<0>;
  table["LikelihoodGradient"] = same_as_input;
  table["SoftmaxCrossEntropyGradient"] = same_as_input;
}

}  // namespace assay
