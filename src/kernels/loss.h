// What losses of class scores and their gradients share. Scores are (N, C, d…), targets (N, d…).
#pragma once

#include <optional>

#include "kernels/kernel.h"
#include "kernels/lanes.h"

namespace assay::kernels {

struct Targets {
  std::vector<std::int64_t> classes;
  std::optional<std::int64_t> ignored;
  std::vector<double> weights;  // by class

  // 0 for a target that does not count.
  double weight(std::size_t i) const {
    if (ignored && classes[i] == *ignored) return 0;
    return weights[static_cast<std::size_t>(classes[i])];
  }
};

// Inputs 0, 1 and 2 of the call: scores, targets, and weights by class where there are any. Fails
// where a target is not a class.
Targets targets_of(const KernelCall& call);

// Which element of the scores belongs to target `i`.
std::size_t place_of(const Lanes& classes, const Targets& targets, std::size_t i);

void take_log_softmax(Lane<double> lane);

}  // namespace assay::kernels
