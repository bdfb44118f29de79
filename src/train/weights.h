// The state of training, and the model with its weights.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/graph.h"
#include "assay/training_step.h"

namespace assay::train {

std::vector<Tensor> initial_state(const TrainingStep& step);

// The model's stored tensors in the state, without the optimizer state.
std::vector<Tensor> model_weights(const TrainingStep& step, std::span<const Tensor> state);
// The graph with these weights.
Graph with_weights(const Graph& graph, const TrainingStep& step, std::span<const Tensor> weights);

// Throws an Error if a parameter is not among the graph's own stored tensors, where it could be put
// back.
void check_weights_can_return(const Graph& graph, const TrainingStep& step);

bool is_finite(const Tensor& tensor);
// The position of the first tensor that holds NaN or an infinity.
std::optional<std::size_t> first_not_finite(std::span<const Tensor> tensors);

}  // namespace assay::train
