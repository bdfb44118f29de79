// The learning rate over time.
#pragma once

#include "assay/train.h"

namespace assay::train {

// The rate of a step, counted from 0 over all epochs.
double learning_rate_at(const TrainOptions& options, std::int64_t step, std::int64_t steps);

}  // namespace assay::train
