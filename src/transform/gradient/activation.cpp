// Functions between layers.
#include <cmath>
#include <numbers>

#include "kernels/lanes.h"
#include "transform/gradient/context.h"

namespace assay {

namespace {

void relu(GradientContext& context) {
  context.give(0, context.own("ReluGradient", {context.out(), context.gradient()}));
}

ValueId is_positive(GradientContext& context) {
  return context.node("Greater", {context.in(0), context.number(0)});
}

void leaky_relu(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const double alpha = static_cast<double>(context.node().float_or("alpha", 0.01f));
  context.give(
      0, context.node("Where", {is_positive(context), gradient, context.times(gradient, alpha)}));
}

void parametric_relu(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const ValueId positive = is_positive(context);
  if (context.wants(0)) {
    const ValueId sloped = context.mul(gradient, context.in(1));
    context.give(0, context.node("Where", {positive, gradient, sloped}));
  }
  if (context.wants(1)) {
    const ValueId product = context.mul(gradient, context.in(0));
    context.give_broadcast(1, context.node("Where", {positive, context.number(0), product}));
  }
}

// α (eˣ - 1) below zero: its slope is the result plus α.
void exponential_linear(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const double alpha = static_cast<double>(context.node().float_or("alpha", 1.0f));
  const ValueId slope = context.add(context.out(), context.number(alpha));
  context.give(
      0, context.node("Where", {is_positive(context), gradient, context.mul(gradient, slope)}));
}

// What was not clipped is unchanged.
void clip(GradientContext& context) {
  const ValueId is_kept = context.node("Equal", {context.in(0), context.out()});
  context.give(0, context.where(is_kept, context.gradient()));
}

void sigmoid(GradientContext& context) {
  const ValueId rest = context.sub(context.number(1), context.out());
  context.give(0, context.mul(context.gradient(), context.mul(context.out(), rest)));
}

void hyperbolic_tangent(GradientContext& context) {
  const ValueId square = context.mul(context.out(), context.out());
  context.give(0, context.mul(context.gradient(), context.sub(context.number(1), square)));
}

void hard_sigmoid(GradientContext& context) {
  const double alpha = static_cast<double>(context.node().float_or("alpha", 0.2f));
  const ValueId above = context.node("Greater", {context.out(), context.number(0)});
  const ValueId below = context.node("Less", {context.out(), context.number(1)});
  const ValueId between = context.node("And", {above, below});
  context.give(0, context.where(between, context.times(context.gradient(), alpha)));
}

// x · clip(x / 6 + 1/2, 0, 1)
void hard_swish(GradientContext& context) {
  const ValueId x = context.in(0);
  const ValueId gradient = context.gradient();
  const ValueId above = context.node("Greater", {x, context.number(-3)});
  const ValueId beyond = context.node("Greater", {x, context.number(3)});
  const ValueId slope = context.add(context.times(x, 1.0 / 3), context.number(0.5));
  const ValueId bent = context.where(above, context.mul(gradient, slope));
  context.give(0, context.node("Where", {beyond, gradient, bent}));
}

void softplus(GradientContext& context) {
  context.give(0, context.mul(context.gradient(), context.node("Sigmoid", {context.in(0)})));
}

void error_function(GradientContext& context) {
  const ValueId square = context.mul(context.in(0), context.in(0));
  const ValueId bell = context.node("Exp", {context.neg(square)});
  const ValueId slope = context.times(bell, 2 / std::sqrt(std::numbers::pi));
  context.give(0, context.mul(context.gradient(), slope));
}

void gelu(GradientContext& context) {
  context.give(0, context.own("GeluGradient", {context.in(0), context.gradient()},
                              context.attributes({"approximate"})));
}

// Softmax over one axis; before opset 13 over all axes from it on.
Dims softmax_view(const GradientContext& context) {
  const Dims dims = context.output_dims();
  if (context.opset() >= 13) return dims;
  const std::size_t axis = context.axis(context.node().int_or("axis", 1), dims.size());
  const auto split = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  const Dims before(dims.begin(), split);
  const Dims after(split, dims.end());
  return {product_or_zero(before), product_or_zero(after)};
}

std::int64_t softmax_axis(const GradientContext& context) {
  return context.opset() >= 13 ? context.node().int_or("axis", -1) : 1;
}

void softmax(GradientContext& context) {
  const Dims view = softmax_view(context);
  const ValueId result = context.reshaped(context.out(), view);
  const ValueId gradient = context.reshaped(context.gradient(), view);
  const ValueId back =
      context.own("SoftmaxGradient", {result, gradient}, {{"axis", softmax_axis(context)}});
  context.give(0, context.reshaped(back, context.output_dims()));
}

void log_softmax(GradientContext& context) {
  const Dims view = softmax_view(context);
  const ValueId shares = context.node("Exp", {context.reshaped(context.out(), view)});
  const ValueId gradient = context.reshaped(context.gradient(), view);
  const ValueId sum = context.sum(gradient, {softmax_axis(context)}, true);
  const ValueId back = context.sub(gradient, context.mul(shares, sum));
  context.give(0, context.reshaped(back, context.output_dims()));
}

}  // namespace

void add_activation_gradients(GradientTable& table) {
  table["Relu"] = relu;
  table["LeakyRelu"] = leaky_relu;
  table["PRelu"] = parametric_relu;
  table["Elu"] = exponential_linear;
  table["Clip"] = clip;
  table["Sigmoid"] = sigmoid;
  table["Tanh"] = hyperbolic_tangent;
  table["HardSigmoid"] = hard_sigmoid;
  table["HardSwish"] = hard_swish;
  table["Softplus"] = softplus;
  table["Erf"] = error_function;
  table["Gelu"] = gelu;
  table["Softmax"] = softmax;
  table["LogSoftmax"] = log_softmax;
}

}  // namespace assay
