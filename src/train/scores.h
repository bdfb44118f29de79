// The model's prediction for one sample, compared with its label.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/graph.h"
#include "assay/training_step.h"

namespace assay::train {

enum class ScoreKind { Scores, Probabilities, Logarithms };
// By the op that makes the model's first output.
ScoreKind kind_of_scores(const Graph& graph);

// Position of the largest.
std::int64_t predicted_class(std::span<const double> scores);
double loss_of(Loss loss, ScoreKind kind, std::span<const double> scores, std::int64_t label);
// How many labels equal the class predicted from their row of scores.
std::int64_t count_correct(const Tensor& scores, std::span<const std::int64_t> labels);

// The second input of the loss: class indices, or 1 for the class and 0 for others.
Tensor target_of(Loss loss, const Tensor& labels, std::int64_t outputs);

}  // namespace assay::train
