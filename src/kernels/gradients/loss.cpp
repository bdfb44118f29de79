// SoftmaxCrossEntropyGradient and LikelihoodGradient: inputs are the loss's scores, targets and
// weights, then the gradient of the loss; the result is the gradient of the scores.
#include <cmath>

#include "kernels/families.h"
#include "kernels/loss.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// The factor of each target: the incoming gradient, times its weight, divided as the reduction
// does.
std::vector<double> shares_of(const KernelCall& call, const Targets& targets) {
  const auto given = load_real(call, call.input(3));
  const std::string reduction = call.node.string_or("reduction", "mean");
  const std::size_t count = targets.classes.size();
  if (given.size() != (reduction == "none" ? count : 1))
    call.fail("{} gradients of the loss for {} targets", given.size(), count);
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += targets.weight(i);
  std::vector<double> shares;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = targets.weight(i);
    shares.push_back(given[reduction == "none" ? i : 0] * weight /
                     (reduction == "mean" ? total : 1));
  }
  return shares;
}

std::vector<Tensor> likelihood_gradient(const KernelCall& call) {
  const Tensor& scores = call.input(0);
  const Targets targets = targets_of(call);
  const auto shares = shares_of(call, targets);
  const Lanes classes = lanes_along(scores.dims(), 1);
  std::vector<double> results(result_elements(call, scores.dims()));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (targets.weight(i) != 0) results[place_of(classes, targets, i)] = -shares[i];
  }
  return {store_real(scores.type(), scores.dims(), results)};
}

// share · (softmax - 1 at the target)
std::vector<Tensor> softmax_cross_entropy_gradient(const KernelCall& call) {
  const Tensor& scores = call.input(0);
  const Targets targets = targets_of(call);
  const auto shares = shares_of(call, targets);
  const Lanes classes = lanes_along(scores.dims(), 1);
  auto results = load_real(call, scores);
  std::size_t target = 0;
  for_each_lane(results, classes, [&](Lane<double> lane) {
    take_log_softmax(lane);
    for (std::int64_t i = 0; i < lane.length; ++i) lane[i] = shares[target] * std::exp(lane[i]);
    ++target;
  });
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (targets.weight(i) != 0) results[place_of(classes, targets, i)] -= shares[i];
  }
  return {store_real(scores.type(), scores.dims(), results)};
}

}  // namespace

void add_loss_gradient_kernels(KernelTable& table) {
  table["LikelihoodGradient"] = likelihood_gradient;
  table["SoftmaxCrossEntropyGradient"] = softmax_cross_entropy_gradient;
}

}  // namespace assay::kernels
