// Dropout. What it keeps follows from seed, step and position: the backward pass draws the same
// elements once more, instead of keeping a mask of them.
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

// The same op, on the gradient: kept elements are scaled, the others are zero.
ValueId dropped_alike(GradientContext& context, std::string_view domain) {
  std::vector<ValueId> inputs = context.node().inputs;
  inputs[0] = context.gradient();
  const auto& attributes = context.node().attributes;
  return domain == kOwnDomain ? context.own("Dropout", std::move(inputs), attributes)
                              : context.node("Dropout", std::move(inputs), attributes);
}

// A setting of one number, which must be known before running.
double setting(const GradientContext& context, std::size_t input, double otherwise) {
  if (!context.has(input)) return otherwise;
  const Tensor* number = context.known(input);
  if (number == nullptr || number->elements() != 1) {
    context.fail("{} is not known", input == 1 ? "the ratio" : "training_mode");
  }
  return number->to_double().front();
}

// At inference nothing happens.
void dropout(GradientContext& context) {
  const bool trains = setting(context, 2, 0) != 0;
  if (!trains || setting(context, 1, 0.5) == 0) return context.give(0, context.gradient());
  if (context.node().find("seed") == nullptr)
    context.fail("it has no seed from which its mask could be drawn again");
  context.give(0, dropped_alike(context, ""));
}

void stepwise_dropout(GradientContext& context) {
  context.give(0, dropped_alike(context, kOwnDomain));
}

}  // namespace

void add_dropout_gradients(GradientTable& table) {
  table["Dropout"] = dropout;
  table["assay:Dropout"] = stepwise_dropout;
}

}  // namespace assay::transform
