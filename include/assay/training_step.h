// One step of training as a graph: forward pass, loss, backward pass, and the update of every
// parameter. Parameters, running statistics and optimizer state are state that the graph carries
// from run to run, so that a step is counted, planned and run like any model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/infer.h"

namespace assay {

enum class OptimizerKind { Sgd, Momentum, Adam, AdamW };
std::string_view name(OptimizerKind kind);             // "sgd", "momentum", "adam", "adamw"
OptimizerKind optimizer_named(std::string_view name);  // an Error lists the known names

// State values per parameter: 0, 1, 2, 2.
std::size_t states_of(OptimizerKind kind);

// As PyTorch defines them. Adam's decay is part of the gradient, AdamW's is not.
struct Optimizer {
  OptimizerKind kind = OptimizerKind::Sgd;
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

// The loss to minimise. Cross-entropy takes class indices, the mean squared error a tensor like the
// model's first output; the sum of all outputs' squares takes nothing.
enum class Loss { SumOfSquares, CrossEntropy, MeanSquaredError };
std::string_view name(Loss loss);  // "sum-of-squares", "cross-entropy", "mean-squared-error"
Loss loss_named(std::string_view name);

enum class Phase { Forward, Recompute, Backward, Update };
std::string_view name(Phase phase);  // "forward", "recompute", "backward", "update"

struct TrainingStepOptions {
  Loss loss = Loss::SumOfSquares;
  Optimizer optimizer = {};
  std::uint64_t seed = 0;  // of what dropouts drop
  // N batches of the model's, one after the other, whose gradients are added up before the
  // update: their activations are never in memory together.
  std::int64_t accumulate = 1;
  // The forward pass in N segments, all but the last of which are computed a second time
  // instead of being kept: see recompute().
  std::size_t pieces = 1;
  // A model without parameters: the gradients of its floating inputs, which become outputs of the
  // step, instead of an Error.
  bool input_gradients = false;
};

// A value that the step carries from run to run.
struct StateSlot {
  enum class Kind { Parameter, Statistic, Optimizer };
  Kind kind = Kind::Parameter;
  std::string name;  // of the model's stored tensor
  Tensor initial;
};

struct TrainingStep {
  // Inputs: the model's, the target if the loss takes one, the rate and the number of the step,
  // from 1. Outputs: the loss, then the model's, then gradients of inputs (`input_gradients`).
  Graph graph = {};
  std::vector<StateSlot> state = {};  // in the order of graph.carried()
  std::vector<Phase> phases = {};     // by node
  std::vector<NodeId> layers = {};    // by node: the model's node it belongs to, if any
  // Of the parameters among `state`, in their order; of the inputs where there are no parameters.
  std::vector<ValueId> gradients = {};
  std::size_t repeated_nodes = 0;  // that are computed a second time
  ValueId target = {};             // invalid where the loss takes none
  ValueId rate = {};
  ValueId number = {};  // of the step
  ValueId loss = {};
  std::int64_t classes = 1;  // that a label may be, with cross-entropy
};

// `parameters` are stored tensors of the model; those the loss does not depend on stay as they are.
// Batch norms normalise by the batch and keep running statistics, dropouts drop.
TrainingStep training_step(const Inferred& model, std::span<const ValueId> parameters,
                           const TrainingStepOptions& options = {});

}  // namespace assay
