// Sums, means, extremes and norms over axes.
#include <algorithm>
#include <numeric>

#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

Dims reduced_axes(const GradientContext& context) {
  const std::size_t rank = context.input_dims(0).size();
  Dims axes = context.node().ints_or("axes", {});
  if (context.has(1)) axes = context.known_ints(1);
  if (axes.empty() && context.node().int_or("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) axis = static_cast<std::int64_t>(context.axis(axis, rank));
  return axes;
}

// The input's dimensions with those reduced at 1: everything broadcasts to it.
struct Reduction {
  Dims axes;
  Dims kept;
  double count = 1;  // of elements behind each result
};

Reduction reduction_of(const GradientContext& context) {
  Reduction reduction{.axes = reduced_axes(context), .kept = context.input_dims(0)};
  for (const std::int64_t axis : reduction.axes) {
    auto& dim = reduction.kept[static_cast<std::size_t>(axis)];
    reduction.count *= static_cast<double>(dim);
    dim = 1;
  }
  return reduction;
}

ValueId kept_gradient(GradientContext& context, const Reduction& reduction) {
  return context.reshaped(context.gradient(), reduction.kept);
}

ValueId kept_result(GradientContext& context, const Reduction& reduction) {
  return context.reshaped(context.out(), reduction.kept);
}

void sum(GradientContext& context) {
  const Reduction reduction = reduction_of(context);
  context.give(0, context.expanded(kept_gradient(context, reduction), context.input_dims(0)));
}

void mean(GradientContext& context) {
  const Reduction reduction = reduction_of(context);
  const ValueId share = context.times(kept_gradient(context, reduction), 1 / reduction.count);
  context.give(0, context.expanded(share, context.input_dims(0)));
}

void sum_of_squares(GradientContext& context) {
  const Reduction reduction = reduction_of(context);
  const ValueId twice = context.times(kept_gradient(context, reduction), 2);
  context.give(0, context.mul(context.in(0), twice));
}

void euclidean_norm(GradientContext& context) {
  const Reduction reduction = reduction_of(context);
  const ValueId share =
      context.div(kept_gradient(context, reduction), kept_result(context, reduction));
  context.give(0, context.mul(context.in(0), share));
}

void sum_of_magnitudes(GradientContext& context) {
  const Reduction reduction = reduction_of(context);
  const ValueId sign = context.node("Sign", {context.in(0)});
  context.give(0, context.mul(sign, kept_gradient(context, reduction)));
}

void log_sum_exp(GradientContext& context) {
  const Reduction reduction = reduction_of(context);
  const ValueId shares =
      context.node("Exp", {context.sub(context.in(0), kept_result(context, reduction))});
  context.give(0, context.mul(shares, kept_gradient(context, reduction)));
}

// Equal extremes share the gradient.
void extreme(GradientContext& context) {
  const Reduction reduction = reduction_of(context);
  const ValueId chosen = context.node("Equal", {context.in(0), kept_result(context, reduction)});
  const ValueId ones = context.where(chosen, context.number(1));
  const ValueId share =
      context.div(kept_gradient(context, reduction), context.sum(ones, reduction.axes, true));
  context.give(0, context.mul(ones, share));
}

}  // namespace

void add_reduction_gradients(GradientTable& table) {
  table["ReduceSum"] = sum;
  table["ReduceMean"] = mean;
  table["ReduceSumSquare"] = sum_of_squares;
  table["ReduceL2"] = euclidean_norm;
  table["ReduceL1"] = sum_of_magnitudes;
  table["ReduceLogSumExp"] = log_sum_exp;
  table["ReduceMax"] = extreme;
  table["ReduceMin"] = extreme;
}

}  // namespace assay::transform
