// The layers of a training profile that a report shows.
#pragma once

#include "assay/training_profile_report.h"

namespace assay::report {

// The slowest `top` layers (0: all), in execution order or, in tables, slowest first. `hidden` gets
// the sum of the others.
std::vector<TrainingLayer> training_rows(const TrainingProfile& profile, std::size_t top,
                                         TrainingLayer* hidden = nullptr);

double time_of(const TrainingLayer& layer);  // all phases together

std::string words_of(MemoryUse use);  // "kept activations"

}  // namespace assay::report
