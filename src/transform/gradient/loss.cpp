// Losses of class scores.
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

void class_loss(GradientContext& context, const char* gradient_op) {
  if (!context.wants(0)) return;
  const ValueId weights = context.has(2) ? context.in(2) : ValueId{};
  context.give(0,
               context.own(gradient_op, {context.in(0), context.in(1), weights, context.gradient()},
                           context.attributes({"reduction", "ignore_index"})));
}

void softmax_cross_entropy(GradientContext& context) {
  class_loss(context, "SoftmaxCrossEntropyGradient");
}

void negative_log_likelihood(GradientContext& context) {
  class_loss(context, "LikelihoodGradient");
}

}  // namespace

void add_loss_gradients(GradientTable& table) {
  table["SoftmaxCrossEntropyLoss"] = softmax_cross_entropy;
  table["NegativeLogLikelihoodLoss"] = negative_log_likelihood;
}

}  // namespace assay::transform
