// The layers of a training profile that a report shows.
#pragma once

#include "assay/training_profile_report.h"

namespace assay::report {

// The slowest `top` (all where it is 0) in execution order or, in tables, the slowest first. What
// was left out is summed up in `hidden`.
std::vector<TrainingLayer> training_rows(const TrainingProfile& profile, std::size_t top,
                                         TrainingLayer* hidden = nullptr);

double time_of(const TrainingLayer& layer);  // all phases together

std::string words_of(MemoryUse use);  // "kept activations"

}  // namespace assay::report
