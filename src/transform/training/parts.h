// The parts that a training step is put together from.
#pragma once

#include "assay/training_step.h"
#include "transform/edit.h"

namespace assay::transform {

// `name`, or `name` with a number appended where a value has that name already.
std::string unused_name(const Graph& graph, const std::string& name);

// The same model in the forms of opset 11; values and nodes keep their numbers.
Inferred in_modern_forms(const Inferred& model);

// The model with everything that training changes as an input instead of a constant.
struct Trainable {
  Graph graph = {};
  std::vector<NodeId> layers = {};  // by node: the model's node it belongs to
  // What changes, in the order of the model's stored tensors.
  std::vector<ValueId> parameters = {};
  std::vector<Carried> statistics = {};  // running ones, and what replaces them
};
Trainable trainable(const Inferred& model, std::span<const ValueId> parameters);

struct AddedLoss {
  ValueId loss;
  ValueId target;  // invalid: the loss takes none
  std::int64_t classes = 1;
};
// Nodes after the graph's own; shapes must be known.
AddedLoss add_loss(Graph& graph, Loss loss);

// One parameter's update, and the state it needs beside the parameter.
struct Update {
  Node node;
  std::vector<Carried> carried;  // the parameter, then the optimizer's
};
struct UpdateInputs {
  ValueId rate;
  ValueId step;
  ValueId parameter;
  ValueId gradient;
};
Update update_of(Graph& graph, const Optimizer& optimizer, const UpdateInputs& inputs);

}  // namespace assay::transform
