// Arithmetic with broadcasting, powers and roots, and choices between two values.
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

void add(GradientContext& context) {
  const ValueId gradient = context.gradient();
  for (std::size_t i = 0; i < context.node().inputs.size(); ++i) {
    if (context.wants(i)) context.give_broadcast(i, gradient);
  }
}

void subtract(GradientContext& context) {
  const ValueId gradient = context.gradient();
  if (context.wants(0)) context.give_broadcast(0, gradient);
  if (context.wants(1)) context.give_broadcast(1, context.neg(gradient));
}

void multiply(GradientContext& context) {
  const ValueId gradient = context.gradient();
  for (const std::size_t i : {0u, 1u}) {
    if (context.wants(i)) context.give_broadcast(i, context.mul(gradient, context.in(1 - i)));
  }
}

void divide(GradientContext& context) {
  const ValueId by_divisor = context.div(context.gradient(), context.in(1));
  if (context.wants(0)) context.give_broadcast(0, by_divisor);
  if (context.wants(1)) {
    context.give_broadcast(1, context.neg(context.mul(by_divisor, context.out())));
  }
}

void negate(GradientContext& context) {
  context.give(0, context.neg(context.gradient()));
}

void absolute(GradientContext& context) {
  context.give(0, context.mul(context.gradient(), context.node("Sign", {context.in(0)})));
}

void exponential(GradientContext& context) {
  context.give(0, context.mul(context.gradient(), context.out()));
}

void logarithm(GradientContext& context) {
  context.give(0, context.div(context.gradient(), context.in(0)));
}

void square_root(GradientContext& context) {
  context.give(0, context.div(context.times(context.gradient(), 0.5), context.out()));
}

void reciprocal(GradientContext& context) {
  const ValueId square = context.mul(context.out(), context.out());
  context.give(0, context.neg(context.mul(context.gradient(), square)));
}

void sine(GradientContext& context) {
  context.give(0, context.mul(context.gradient(), context.node("Cos", {context.in(0)})));
}

void cosine(GradientContext& context) {
  const ValueId slope = context.neg(context.node("Sin", {context.in(0)}));
  context.give(0, context.mul(context.gradient(), slope));
}

void power(GradientContext& context) {
  const ValueId gradient = context.gradient();
  if (context.wants(0)) {
    const Tensor* exponent = context.known(1);
    const bool is_number = exponent != nullptr && exponent->elements() == 1;
    const double number = is_number ? exponent->to_double().front() : 0;
    const ValueId less =
        is_number ? context.number(number - 1) : context.sub(context.in(1), context.number(1));
    const ValueId slope = context.mul(is_number ? context.number(number) : context.in(1),
                                      context.node("Pow", {context.in(0), less}));
    context.give_broadcast(0, context.mul(gradient, slope));
  }
  if (context.wants(1)) {
    const ValueId slope = context.mul(context.out(), context.node("Log", {context.in(0)}));
    context.give_broadcast(1, context.mul(gradient, slope));
  }
}

void where(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const ValueId condition = context.in(0);
  if (context.wants(1)) context.give_broadcast(1, context.where(condition, gradient));
  if (context.wants(2)) {
    context.give_broadcast(2, context.node("Where", {condition, context.number(0), gradient}));
  }
}

// Where both are equal, the first gets the gradient.
void extreme(GradientContext& context, const char* is_worse) {
  if (context.node().inputs.size() == 1) return context.give(0, context.gradient());
  if (context.node().inputs.size() != 2) context.fail("it has more than two inputs");
  const ValueId gradient = context.gradient();
  const ValueId is_second = context.node(is_worse, {context.in(0), context.in(1)});
  if (context.wants(0)) {
    context.give_broadcast(0, context.node("Where", {is_second, context.number(0), gradient}));
  }
  if (context.wants(1)) context.give_broadcast(1, context.where(is_second, gradient));
}

void maximum(GradientContext& context) {
  extreme(context, "Less");
}

void minimum(GradientContext& context) {
  extreme(context, "Greater");
}

void pass_on(GradientContext& context) {
  context.give(0, context.gradient());
}

}  // namespace

void add_elementwise_gradients(GradientTable& table) {
  table["Add"] = add;
  table["Sum"] = add;
  table["Sub"] = subtract;
  table["Mul"] = multiply;
  table["Div"] = divide;
  table["Neg"] = negate;
  table["Abs"] = absolute;
  table["Exp"] = exponential;
  table["Log"] = logarithm;
  table["Sqrt"] = square_root;
  table["Reciprocal"] = reciprocal;
  table["Sin"] = sine;
  table["Cos"] = cosine;
  table["Pow"] = power;
  table["Where"] = where;
  table["Max"] = maximum;
  table["Min"] = minimum;
  table["Identity"] = pass_on;
}

}  // namespace assay::transform
