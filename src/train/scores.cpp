#include "train/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/fail.h"

namespace assay::train {

namespace {

// Relative to the largest score, so that nothing overflows.
double cross_entropy(ScoreKind kind, std::span<const double> scores, std::size_t label) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  if (kind == ScoreKind::Logarithms) return -scores[label];
  if (kind == ScoreKind::Probabilities) return -std::log(std::max(scores[label], kLeast));
  const double largest = std::ranges::max(scores);
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum) - scores[label];
}

double squared_error(std::span<const double> scores, std::size_t label) {
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double distance = scores[i] - (i == label ? 1 : 0);
    sum += distance * distance;
  }
  return sum / static_cast<double>(scores.size());
}

}  // namespace

ScoreKind kind_of_scores(const Graph& graph) {
  const NodeId maker = graph.producer(graph.outputs()[0]);
  if (!maker.is_valid()) return ScoreKind::Scores;
  const Node& node = graph.node(maker);
  const std::int64_t axis = node.int_or("axis", -1);
  const bool is_over_classes = axis == -1 || axis == 1;
  if (!is_over_classes) return ScoreKind::Scores;
  if (node.is("Softmax")) return ScoreKind::Probabilities;
  return node.is("LogSoftmax") ? ScoreKind::Logarithms : ScoreKind::Scores;
}

std::int64_t predicted_class(std::span<const double> scores) {
  return std::ranges::max_element(scores) - scores.begin();
}

double loss_of(Loss loss, ScoreKind kind, std::span<const double> scores, std::int64_t label) {
  const auto position = static_cast<std::size_t>(label);
  return loss == Loss::MeanSquaredError ? squared_error(scores, position)
                                        : cross_entropy(kind, scores, position);
}

std::int64_t count_correct(const Tensor& scores, std::span<const std::int64_t> labels) {
  const auto numbers = scores.to_double();
  const std::size_t width = numbers.size() / labels.size();
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool is_right =
        predicted_class(std::span(numbers).subspan(i * width, width)) == labels[i];
    correct += is_right ? 1 : 0;
  }
  return correct;
}

Tensor target_of(Loss loss, const Tensor& labels, std::int64_t outputs) {
  if (loss != Loss::MeanSquaredError) return labels;
  const auto classes = labels.to_vector<std::int64_t>();
  const auto width = static_cast<std::size_t>(outputs);
  std::vector<float> target(classes.size() * width, 0.0f);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    target[i * width + static_cast<std::size_t>(classes[i])] = 1;
  }
  return Tensor::of_float({labels.elements(), outputs}, target);
}

}  // namespace assay::train
