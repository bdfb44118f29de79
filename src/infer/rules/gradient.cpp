// The ops of training and backward passes. If a shape does not follow from the inputs, an
// attribute gives it; every operand is compared with the shape that the forward op would produce.
#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

Shape shape_from(const InferContext& context, const char* attribute) {
  if (context.node().find(attribute) == nullptr) context.fail("has no attribute '{}'", attribute);
  const Dims dims = context.node().ints_or(attribute, {});
  for (const std::int64_t dim : dims) {
    if (dim < 0) context.fail("{} holds {}", attribute, dim);
  }
  return Shape(dims);
}

void check_gradient(const InferContext& context, std::size_t input,
                    const std::optional<Shape>& expected) {
  if (expected) check_shape(context, input, *expected);
}

// The second operand, a gradient, is as large as the first.
void like_first(InferContext& context) {
  check_gradient(context, 1, context.type(0).shape);
  same_as_input(context);
}

void softmax_gradient(InferContext& context) {
  like_first(context);
  const Shape* result = context.shape(0);
  if (result != nullptr) context.axis(context.node().int_or("axis", -1), result->rank());
}

void convolution_input_gradient(InferContext& context) {
  const Shape input = shape_from(context, "input_dims");
  check_gradient(context, 0, convolved_shape(context, &input, context.shape(1)));
  context.set(0, context.element(0), input);
}

void convolution_weight_gradient(InferContext& context) {
  const Shape weight = shape_from(context, "weight_dims");
  check_gradient(context, 1, convolved_shape(context, context.shape(0), &weight));
  context.set(0, context.element(0), weight);
  context.set(1, context.element(0), Shape{weight[0]});
}

void max_pool_gradient(InferContext& context) {
  const Shape* input = context.shape(0);
  if (input != nullptr) check_shape(context, 1, pooled_shape(context, *input));
  same_as_input(context);
}

void average_pool_gradient(InferContext& context) {
  const Shape input = shape_from(context, "input_dims");
  check_shape(context, 0, pooled_shape(context, input));
  context.set(0, context.element(0), input);
}

// Gradients of input, scale and bias.
void set_normalization_gradients(InferContext& context) {
  context.set(0, context.type(0));
  for (std::size_t output = 1; output < context.output_count(); ++output)
    context.set(output, context.type(1));
}

void batch_normalization_gradient(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 2);
  if (input != nullptr) check_shape(context, 1, Shape{(*input)[1]});
  check_gradient(context, 2, context.type(0).shape);
  set_normalization_gradients(context);
}

void layer_normalization_gradient(InferContext& context) {
  check_gradient(context, 2, context.type(0).shape);
  if (const Shape* input = context.shape(0)) {
    const std::size_t axis = context.axis(context.node().int_or("axis", -1), input->rank());
    const auto dims = dims_of(*input);
    check_shape(
        context, 1,
        Shape(std::vector<Dim>(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end())));
  }
  set_normalization_gradients(context);
}

void gather_gradient(InferContext& context) {
  const Shape data = shape_from(context, "input_dims");
  const Shape* indices = context.shape(0);
  if (indices != nullptr) check_shape(context, 1, gathered_shape(context, data, *indices));
  context.set(0, context.element(1), data);
}

// `starts` and `steps` are given for every axis, and what they select lies inside.
void slice_gradient(InferContext& context) {
  const Shape input = shape_from(context, "input_dims");
  const Dims starts = context.node().ints_or("starts", {});
  const Dims steps = context.node().ints_or("steps", {});
  const Shape* gradient = context.shape_of_rank(0, input.rank());
  if (starts.size() != input.rank() || steps.size() != input.rank())
    context.fail("starts and steps must be given for every axis");
  for (std::size_t axis = 0; gradient != nullptr && axis < input.rank(); ++axis) {
    const std::int64_t count = (*gradient)[axis].value();
    if (count <= 0) continue;
    const auto reach = checked_multiply(steps[axis], count - 1);
    const auto last = reach ? checked_add(starts[axis], *reach) : std::nullopt;
    const auto is_inside = [&](std::int64_t at) { return at >= 0 && at < input[axis].value(); };
    if (!last || !is_inside(starts[axis]) || !is_inside(*last))
      context.fail("axis {} is cut outside of it", axis);
  }
  context.set(0, context.element(0), input);
}

void resize_gradient(InferContext& context) {
  const Shape input = shape_from(context, "input_dims");
  check_shape(context, 0, resized_shape(context, input));
  context.set(0, context.element(0), input);
}

// Inputs are scores, targets and weights, then the gradient of the loss.
void loss_gradient(InferContext& context) {
  check_gradient(context, 3, loss_shape(context));
  same_as_input(context);
}

// Gradients of X, W, R, B, initial_h, and of an LSTM's initial_c and P: each as its operand.
template <std::int64_t Gates>
void recurrent_gradient(InferContext& context) {
  constexpr std::size_t kOperands[] = {0, 1, 2, 3, 5, 6, 7};
  constexpr std::size_t kFirstGradient = Gates == 4 ? 8 : 6;
  const RecurrentShapes shapes = recurrent_shapes(context, Gates);
  check_shape(context, kFirstGradient, shapes.all);
  check_shape(context, kFirstGradient + 1, shapes.last);
  check_shape(context, kFirstGradient + 2, shapes.last);
  for (std::size_t output = 0; output < std::min(context.output_count(), std::size(kOperands));
       ++output) {
    if (context.node().has_output(output)) context.set(output, context.type(kOperands[output]));
  }
}

// The same dimensions, and which elements were kept.
void seeded_dropout(InferContext& context) {
  check_shape(context, 1, Shape{});
  same_as_input(context);
  context.set(1, DataType::Bool, context.type(0).shape);
}

}  // namespace

void add_gradient_rules(RuleTable& table) {
  add_attention_rules(table);
  add_optimizer_rules(table);
  table["ConvInputGradient"] = convolution_input_gradient;
  table["ConvWeightGradient"] = convolution_weight_gradient;
  table["MaxPoolGradient"] = max_pool_gradient;
  table["AveragePoolGradient"] = average_pool_gradient;
  table["BatchNormalizationGradient"] = batch_normalization_gradient;
  table["LayerNormalizationGradient"] = layer_normalization_gradient;
  table["ReluGradient"] = like_first;
  table["GeluGradient"] = like_first;
  table["SoftmaxGradient"] = softmax_gradient;
  table["GatherGradient"] = gather_gradient;
  table["SliceGradient"] = slice_gradient;
  table["ResizeGradient"] = resize_gradient;
  table["LikelihoodGradient"] = loss_gradient;
  table["SoftmaxCrossEntropyGradient"] = loss_gradient;
  table["Dropout"] = seeded_dropout;
  table["RnnGradient"] = recurrent_gradient<1>;
  table["GruGradient"] = recurrent_gradient<3>;
  table["LstmGradient"] = recurrent_gradient<4>;
}

}  // namespace assay::infer
