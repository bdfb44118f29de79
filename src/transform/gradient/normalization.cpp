// BatchNormalization by the batch's statistics or by stored ones, and LayerNormalization.
#include "graph/node_kinds.h"
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

void give_scale_and_bias(GradientContext& context, const std::vector<ValueId>& gradients) {
  if (context.wants(1)) context.give(1, gradients[1]);
  if (context.wants(2)) context.give(2, gradients[2]);
}

// Stored statistics are constants: a factor and a shift for each channel.
void by_stored_statistics(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const Dims dims = context.output_dims();
  Dims by_channel(dims.size(), 1);
  by_channel[1] = dims[1];
  Dims others = {0};
  for (std::size_t i = 2; i < dims.size(); ++i) others.push_back(static_cast<std::int64_t>(i));
  const double epsilon = static_cast<double>(context.node().float_or("epsilon", 1e-5f));
  const ValueId deviation =
      context.node("Sqrt", {context.add(context.in(4), context.number(epsilon))});
  if (context.wants(0)) {
    const ValueId factor = context.reshaped(context.div(context.in(1), deviation), by_channel);
    context.give(0, context.mul(gradient, factor));
  }
  if (context.wants(1)) {
    const ValueId centred = context.sub(context.in(0), context.reshaped(context.in(3), by_channel));
    const ValueId sum = context.sum(context.mul(gradient, centred), others, false);
    context.give(1, context.div(sum, deviation));
  }
  if (context.wants(2)) context.give(2, context.sum(gradient, others, false));
}

void batch_normalization(GradientContext& context) {
  if (context.output_dims().size() < 2) context.fail("its input has no channels");
  if (!graph::is_training_batch_norm(context.node(), context.opset())) {
    return by_stored_statistics(context);
  }
  const auto gradients = context.own_with_outputs(
      "BatchNormalizationGradient", {context.in(0), context.in(1), context.gradient()}, 3,
      context.attributes({"epsilon"}));
  if (context.wants(0)) context.give(0, gradients[0]);
  give_scale_and_bias(context, gradients);
}

void layer_normalization(GradientContext& context) {
  const Dims dims = context.input_dims(0);
  const std::size_t axis = context.axis(context.node().int_or("axis", -1), dims.size());
  const Dims normalized(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end());
  if (context.input_dims(1) != normalized) context.fail("its scale is broadcast");
  const auto gradients = context.own_with_outputs(
      "LayerNormalizationGradient", {context.in(0), context.in(1), context.gradient()}, 3,
      context.attributes({"epsilon", "axis"}));
  if (context.wants(0)) context.give(0, gradients[0]);
  give_scale_and_bias(context, gradients);
}

}  // namespace

void add_normalization_gradients(GradientTable& table) {
  table["BatchNormalization"] = batch_normalization;
  table["LayerNormalization"] = layer_normalization;
}

}  // namespace assay::transform
