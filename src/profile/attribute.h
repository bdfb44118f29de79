// Rows for the nodes of a model, and the time of steps attributed to them.
//
// A step's whole time is listed under its main layer, the one with the most FLOPs (the first, where
// none has any); the other layers of the step name the layer they were fused into. So times always
// sum up, without invented fractions.
#pragma once

#include "assay/profile.h"
#include "profile/observe.h"

namespace assay::profile {

// One row per node of the root graph, summed over the nodes of its body; then what belongs to none.
std::vector<ProfileLayer> layer_rows(const Graph& graph, const CostSheet& sheet);

// What the layers of a step were counted with; 0 where that is not known.
std::int64_t counted_flops(const StepInfo& step, const std::vector<ProfileLayer>& layers);

std::vector<ProfileStep> step_rows(const std::vector<StepInfo>& steps, const Observation& seen,
                                   const std::vector<ProfileLayer>& layers);

// Adds the time of every step to a layer; appends rows for steps that compute no layer. Layers are
// marked as uneven only if the run as a whole is not noisy.
void attribute_steps(const std::vector<ProfileStep>& steps, double run_ms, bool is_noisy,
                     std::vector<ProfileLayer>& layers);

}  // namespace assay::profile
