// The step that is profiled, and what it needs as planned.
#pragma once

#include "assay/memory.h"
#include "assay/training_profile.h"

namespace assay::profile {

// Of a model without parameters: with the gradients of its inputs.
TrainingStep step_to_profile(const Inferred& model, TrainingStepOptions options);

PlannedTraining planned(const TrainingStep& step, const MemoryPlan& plan, std::int64_t batch,
                        OptimizerKind optimizer);

}  // namespace assay::profile
