// Counts and, on machines, measurements of one model.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/graph.h"

namespace assay {

class Profiler {
 public:
  // What training would change: Linear(128, 64) has 8,256. Each stored tensor counts once.
  std::int64_t count_parameters(const Graph& model) const;

  // For one sample: 2·MACs without the bias, plus 1 per output element of every other op that
  // computes (`CostTotals::flops` weighs norms, softmax and pooling by what they do). The first
  // axis of `input_shape` is the batch wherever the model has MACs; a model that has none knows no
  // batch, and its whole input is the sample.
  std::int64_t count_flops(const Graph& model, const std::vector<std::int64_t>& input_shape) const;
};

}  // namespace assay
