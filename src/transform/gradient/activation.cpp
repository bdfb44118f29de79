// Activation functions.
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "kernels/lanes.h"
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

void relu(GradientContext& context) {
  context.give(0, context.own("ReluGradient", {context.out(), context.gradient()}));
}

// `gradient` where `value` is above zero, else zero: the one choice that engines have a fast form
// of.
ValueId where_positive(GradientContext& context, ValueId value, ValueId gradient) {
  return context.own("ReluGradient", {value, gradient});
}

// The gradient in two halves, where the input is above zero and where it is not.
struct Halves {
  ValueId above;
  ValueId below;
};

Halves halves_of(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const ValueId above = where_positive(context, context.in(0), gradient);
  return {above, context.sub(gradient, above)};
}

void leaky_relu(GradientContext& context) {
  const double alpha = static_cast<double>(context.node().float_or("alpha", 0.01f));
  const Halves halves = halves_of(context);
  context.give(0, context.add(halves.above, context.times(halves.below, alpha)));
}

void parametric_relu(GradientContext& context) {
  const Halves halves = halves_of(context);
  if (context.wants(0)) {
    context.give(0, context.add(halves.above, context.mul(halves.below, context.in(1))));
  }
  if (context.wants(1)) context.give_broadcast(1, context.mul(halves.below, context.in(0)));
}

// α (eˣ - 1) below zero: its slope is the result plus α.
void exponential_linear(GradientContext& context) {
  const double alpha = static_cast<double>(context.node().float_or("alpha", 1.0f));
  const Halves halves = halves_of(context);
  const ValueId slope = context.add(context.out(), context.number(alpha));
  context.give(0, context.add(halves.above, context.mul(halves.below, slope)));
}

// The gradient where `value` is between two bounds; an infinite one has no effect.
ValueId where_between(GradientContext& context, ValueId value, double low, double high,
                      ValueId gradient) {
  if (std::isfinite(high)) {
    gradient = where_positive(context, context.sub(context.number(high), value), gradient);
  }
  if (std::isfinite(low)) {
    const ValueId above = low == 0 ? value : context.sub(value, context.number(low));
    gradient = where_positive(context, above, gradient);
  }
  return gradient;
}

// A bound of Clip: an attribute in old opsets, an input in later ones; nothing if it is not a
// number known before running.
std::optional<double> clip_bound(const GradientContext& context, std::size_t input,
                                 const char* attribute, double otherwise) {
  if (!context.has(input)) {
    return static_cast<double>(context.node().float_or(attribute, static_cast<float>(otherwise)));
  }
  const Tensor* bound = context.known(input);
  if (bound == nullptr || bound->elements() != 1) return {};
  return bound->to_double().front();
}

// Clipped elements get no gradient.
void clip(GradientContext& context) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const auto low = clip_bound(context, 1, "min", -kNone);
  const auto high = clip_bound(context, 2, "max", kNone);
  if (low && high) {
    return context.give(0, where_between(context, context.in(0), *low, *high, context.gradient()));
  }
  const ValueId is_kept = context.node("Equal", {context.in(0), context.out()});
  context.give(0, context.where(is_kept, context.gradient()));
}

// y · (1 - y)
void sigmoid(GradientContext& context) {
  const ValueId product = context.mul(context.gradient(), context.out());
  context.give(0, context.sub(product, context.mul(product, context.out())));
}

// 1 - y², in an order that takes one pass
void hyperbolic_tangent(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const ValueId square = context.mul(context.mul(gradient, context.out()), context.out());
  context.give(0, context.sub(gradient, square));
}

void hard_sigmoid(GradientContext& context) {
  const double alpha = static_cast<double>(context.node().float_or("alpha", 0.2f));
  const ValueId sloped = context.times(context.gradient(), alpha);
  context.give(0, where_between(context, context.out(), 0, 1, sloped));
}

// x · clip(x / 6 + 1/2, 0, 1)
void hard_swish(GradientContext& context) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const ValueId x = context.in(0);
  const ValueId gradient = context.gradient();
  const ValueId slope = context.add(context.times(x, 1.0 / 3), context.number(0.5));
  const ValueId bent = where_between(context, x, -3, 3, context.mul(gradient, slope));
  context.give(0, context.add(bent, where_between(context, x, 3, kNone, gradient)));
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
  Dims dims = context.output_dims();
  if (context.opset() >= 13) return dims;
  const std::size_t axis = context.axis(context.node().int_or("axis", 1), dims.size());
  const auto split = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  const Dims before(dims.begin(), split);
  const Dims after(split, dims.end());
  return {kernels::product_or_zero(before), kernels::product_or_zero(after)};
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

}  // namespace assay::transform
