// A planned step in figures.
#pragma once

#include "assay/memory.h"
#include "assay/training_profile.h"

namespace assay::profile {

PlannedTraining planned(const TrainingStep& step, const MemoryPlan& plan, std::int64_t batch,
                        OptimizerKind optimizer);

}  // namespace assay::profile
