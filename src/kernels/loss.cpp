// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. Scores are (N, C, d…), targets (N, d…).
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/loss.h"
#include "kernels/real.h"

namespace assay::kernels {

Targets targets_of(const KernelCall& call) {
  const Dims& scores = call.input(0).dims();
  if (scores.size() < 2) call.fail("scores {} have no classes", join_dims(scores));
  Dims wanted = scores;
  wanted.erase(wanted.begin() + 1);
  if (call.input(1).dims() != wanted)
    call.fail("targets {} do not fit scores {}", join_dims(call.input(1).dims()),
              join_dims(scores));
  Targets targets;
  targets.classes = call.input(1).to_int64();
  if (const auto* ignored = call.node.get<std::int64_t>("ignore_index")) targets.ignored = *ignored;
  for (const std::int64_t target : targets.classes) {
    if (target == targets.ignored) continue;
    if (target < 0 || target >= scores[1]) call.fail("class {} of {}", target, scores[1]);
  }
  if (call.has(2))
    targets.weights = load_real(call, 2, scores[1]);
  else if (!targets.classes.empty())
    targets.weights.assign(static_cast<std::size_t>(scores[1]), 1.0);
  return targets;
}

std::size_t place_of(const Lanes& classes, const Targets& targets, std::size_t i) {
  const auto outer = static_cast<std::int64_t>(i) / classes.inner;
  const auto inner = static_cast<std::int64_t>(i) % classes.inner;
  return static_cast<std::size_t>((outer * classes.length + targets.classes[i]) * classes.inner +
                                  inner);
}

void take_log_softmax(Lane<double> lane) {
  double largest = lane[0];
  for (std::int64_t i = 1; i < lane.length; ++i) largest = std::max(largest, lane[i]);
  double sum = 0;
  for (std::int64_t i = 0; i < lane.length; ++i) sum += std::exp(lane[i] - largest);
  const double offset = largest + std::log(sum);
  for (std::int64_t i = 0; i < lane.length; ++i) lane[i] -= offset;
}

namespace {

// `logarithms` of probabilities, laid out as the scores.
Tensor likelihood_loss(const KernelCall& call, const std::vector<double>& logarithms) {
  const Targets targets = targets_of(call);
  const Lanes lanes = lanes_along(call.input(0).dims(), 1);
  std::vector<double> losses(targets.classes.size(), 0.0);
  double sum = 0;
  double total_weight = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const double weight = targets.weight(i);
    total_weight += weight;
    if (weight == 0) continue;
    losses[i] = -weight * logarithms[place_of(lanes, targets, i)];
    sum += losses[i];
  }
  const DataType type = call.input(0).type();
  const std::string reduction = call.node.string_or("reduction", "mean");
  if (reduction == "none") return store_real(type, call.input(1).dims(), losses);
  if (reduction == "sum") return store_real(type, {}, {sum});
  if (reduction != "mean") call.fail("reduction '{}' is not known", reduction);
  return store_real(type, {}, {sum / total_weight});
}

std::vector<Tensor> negative_log_likelihood(const KernelCall& call) {
  return {likelihood_loss(call, load_real(call, call.input(0)))};
}

std::vector<Tensor> softmax_cross_entropy(const KernelCall& call) {
  const Tensor& scores = call.input(0);
  if (scores.dims().size() < 2) call.fail("scores {} have no classes", join_dims(scores.dims()));
  auto logarithms = load_real(call, scores);
  for_each_lane(logarithms, lanes_along(scores.dims(), 1), take_log_softmax);
  return {likelihood_loss(call, logarithms), store_real(scores.type(), scores.dims(), logarithms)};
}

}  // namespace

void add_loss_kernels(KernelTable& table) {
  table["NegativeLogLikelihoodLoss"] = negative_log_likelihood;
  table["SoftmaxCrossEntropyLoss"] = softmax_cross_entropy;
}

}  // namespace assay::kernels
