// What may be asked of training.
#pragma once

#include "assay/train.h"

namespace assay {

// An Error of kind Usage names the option, its value and what is possible.
void check_options(const TrainOptions& options, bool has_validation);

// The rate of a step, counted from 0 over all epochs.
double learning_rate_at(const TrainOptions& options, std::int64_t step, std::int64_t steps);

}  // namespace assay
