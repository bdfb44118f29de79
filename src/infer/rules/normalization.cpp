// Normalisations, and Dropout.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

void layer_normalization(InferContext& context) {
  const Shape* input = context.shape(0);
  same_as_input(context);
  const DataType statistics = context.type_from("stash_type", DataType::Float32);
  if (input == nullptr) {
    context.set(1, statistics);
    return context.set(2, statistics);
  }
  const std::size_t first = context.axis(context.node().int_or("axis", -1), input->rank());
  Shape reduced = *input;
  for (std::size_t axis = first; axis < reduced.rank(); ++axis) reduced[axis] = Dim(1);
  for (const std::size_t parameter : {1u, 2u}) {
    if (context.has(parameter) && context.shape(parameter) != nullptr)
      check_broadcasts_to(context, *context.shape(parameter), *input, "a parameter");
  }
  context.set(1, statistics, reduced);
  context.set(2, statistics, reduced);
}

namespace {

void check_channels(InferContext& context, std::size_t first, std::size_t last) {
  const Shape* input = context.shape_of_rank_at_least(0, 1);
  if (input == nullptr) return;
  const Dim channels = input->rank() > 1 ? (*input)[1] : Dim(1);
  for (std::size_t i = first; i <= last; ++i) {
    const Shape* parameter = context.shape_of_rank(i, 1);
    if (parameter != nullptr)
      equal_dims(context, channels, (*parameter)[0], "channels and parameters differ");
  }
}

// Outputs after the first are statistics, one per channel, of the scale's or the mean's type.
void batch_normalization(InferContext& context) {
  // Before opset 9, parameters could be given for every position instead of every channel.
  const bool is_per_channel = context.node().int_or("spatial", 1) != 0;
  if (is_per_channel) check_channels(context, 1, 4);
  same_as_input(context);
  for (std::size_t i = 1; i < context.output_count(); ++i) {
    const std::size_t parameter = i <= 2 ? 2 + i : i;  // saved mean and variance repeat them
    context.set(i, context.type(std::min<std::size_t>(parameter, 4)));
  }
}

void instance_normalization(InferContext& context) {
  check_channels(context, 1, 2);
  same_as_input(context);
}

void group_normalization(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 2);
  const std::int64_t groups = context.node().int_or("num_groups", 1);
  if (input != nullptr) divided(context, (*input)[1], groups, "num_groups");
  same_as_input(context);
}

void dropout(InferContext& context) {
  same_as_input(context);
  context.set(1, context.opset() < 10 ? context.element(0) : DataType::Bool, context.type(0).shape);
}

}  // namespace

void add_normalization_rules(RuleTable& table) {
  table["BatchNormalization"] = batch_normalization;
  table["InstanceNormalization"] = instance_normalization;
  table["GroupNormalization"] = group_normalization;
  table["LayerNormalization"] = layer_normalization;
  table["SimplifiedLayerNormalization"] = layer_normalization;
  table["Dropout"] = dropout;
  for (const char* op : {"LRN", "LpNormalization", "MeanVarianceNormalization"})
    table[op] = same_as_input;
}

}  // namespace assay::infer
