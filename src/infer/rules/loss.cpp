// Losses, and the optimizer steps of ai.onnx.preview.training.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

// Without a reduction the loss is as large as the targets.
std::optional<Shape> loss_shape(const InferContext& context) {
  const bool is_reduced = context.node().string_or("reduction", "mean") != "none";
  const Shape* target = context.shape(1);
  const Shape* scores = context.shape_of_rank_at_least(0, 2);
  if (target != nullptr && scores != nullptr && target->rank() + 1 != scores->rank()) {
    context.fail("scores have rank {}, targets {}", scores->rank(), target->rank());
  }
  for (std::size_t i = 0; target != nullptr && scores != nullptr && i < target->rank(); ++i) {
    equal_dims(context, (*scores)[i == 0 ? 0 : i + 1], (*target)[i], "scores and targets differ");
  }
  if (scores != nullptr) check_shape(context, 2, Shape{(*scores)[1]});
  return is_reduced ? std::optional(Shape{}) : maybe(target);
}

namespace {

void likelihood_loss(InferContext& context) {
  context.set(0, context.element(0), loss_shape(context));
}

void cross_entropy_loss(InferContext& context) {
  context.set(0, context.element(0), loss_shape(context));
  context.set(1, context.type(0));
}

// Inputs are rate, step, then `Groups` groups of tensors: weights, gradients, states. Outputs are
// the new weights and the new states, as large as the old ones.
template <std::size_t Groups>
void optimizer_step(InferContext& context) {
  if (context.input_count() < 2 || (context.input_count() - 2) % Groups != 0) {
    context.fail("{} inputs do not come in {} equal groups", context.input_count(), Groups);
  }
  const std::size_t tensors = (context.input_count() - 2) / Groups;
  for (const std::size_t input : {0u, 1u}) {
    const Shape* one = context.shape(input);
    if (one != nullptr && one->is_known() && one->elements() != 1)
      context.fail("input {} is {}, must be one number", input, one->to_string());
  }
  if (context.output_count() > (Groups - 1) * tensors)
    context.fail("has {} outputs for {} tensors", context.output_count(), tensors);
  for (std::size_t i = 2 + tensors; i < context.input_count(); ++i) {
    const Shape* parameter = context.shape(2 + (i - 2) % tensors);
    if (parameter != nullptr) check_shape(context, i, *parameter);
  }
  for (std::size_t i = 0; tensors > 0 && i < context.output_count(); ++i) {
    const std::size_t group = i / tensors == 0 ? 0 : i / tensors + 1;
    context.set(i, context.type(2 + group * tensors + i % tensors));
  }
}

void gradient(InferContext& context) {
  for (std::size_t i = 0; i < context.output_count(); ++i) context.set(i, context.type(i));
}

}  // namespace

void add_loss_rules(RuleTable& table) {
  table["NegativeLogLikelihoodLoss"] = likelihood_loss;
  table["SoftmaxCrossEntropyLoss"] = cross_entropy_loss;
}

void add_optimizer_rules(RuleTable& table) {
  table["Sgd"] = optimizer_step<2>;
  table["Momentum"] = optimizer_step<3>;
  table["Adam"] = optimizer_step<4>;
}

void add_training_rules(RuleTable& table) {
  table["Adagrad"] = optimizer_step<3>;
  table["Adam"] = optimizer_step<4>;
  table["Momentum"] = optimizer_step<3>;
  table["Gradient"] = gradient;
}

}  // namespace assay::infer
