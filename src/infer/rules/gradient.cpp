// The ops of training and backward passes. Where a shape does not follow from the inputs, an
// attribute tells it.
#include <algorithm>
#include <iterator>

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

// Gradients of X, W, R, B, initial_h, and of an LSTM's initial_c and P: each as its operand.
void recurrent_gradient(InferContext& context) {
  constexpr std::size_t kOperands[] = {0, 1, 2, 3, 5, 6, 7};
  for (std::size_t output = 0; output < std::min(context.output_count(), std::size(kOperands));
       ++output) {
    if (context.node().has_output(output)) context.set(output, context.type(kOperands[output]));
  }
}

// The same dimensions, and which elements were kept.
void dropout(InferContext& context) {
  same_as_input(context);
  context.set(1, DataType::Bool, context.type(0).shape);
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
  table["ResizeGradient"] = as_input_dims<0>;
  table["LikelihoodGradient"] = same_as_input;
  table["SoftmaxCrossEntropyGradient"] = same_as_input;
  table["Dropout"] = dropout;
  for (const char* op : {"RnnGradient", "GruGradient", "LstmGradient"})
    table[op] = recurrent_gradient;
}

}  // namespace assay
