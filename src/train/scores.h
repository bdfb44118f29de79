// What a model says of one sample, held against its label.
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
// How many of the labels are what is predicted from the rows of scores.
std::int64_t count_correct(const Tensor& scores, std::span<const std::int64_t> labels);

// What the loss takes beside the scores: class numbers, or 1 for the class and 0 for others.
Tensor target_of(Loss loss, const Tensor& labels, std::int64_t outputs);

}  // namespace assay::train
