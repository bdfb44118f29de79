// Whose time it is: rows for the nodes of a model, and the time of steps given to them.
//
// A step's whole time goes to its main layer, the one with the most FLOPs (the first, where none
// has any); the other layers of the step say into which they were fused. So times always sum up,
// and nobody is handed an invented fraction.
#pragma once

#include "assay/profile.h"
#include "profile/observe.h"

namespace assay::profile {

// One row a node of the root graph, summed over the nodes of its body; then what no node owns.
std::vector<ProfileLayer> layer_rows(const Graph& graph, const CostSheet& sheet);

std::vector<ProfileStep> step_rows(const std::vector<StepInfo>& steps, const Observation& seen,
                                   const std::vector<ProfileLayer>& layers);

// Gives the time of every step to a layer; appends rows for steps that compute no layer. Whether a
// layer's times are uneven is told only where the run as a whole is not: `is_noisy` says so
// already.
void attribute_steps(const std::vector<ProfileStep>& steps, double run_ms, bool is_noisy,
                     std::vector<ProfileLayer>& layers);

}  // namespace assay::profile
