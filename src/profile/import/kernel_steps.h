// Kernels of another runtime as the steps of a profile: their nodes, and the work that was counted
// for these.
#pragma once

#include <vector>

#include "assay/import_profile.h"
#include "profile/import/join.h"

namespace assay::profile {

// Every node's work counts in one step: that of the longest kernel among those that computed it.
// Tensors that stay inside a kernel are neither read nor written.
std::vector<StepInfo> kernel_steps(const Graph& graph, const std::vector<ProfileLayer>& layers,
                                   const RuntimeTrace& trace,
                                   const std::vector<JoinedKernel>& joined);

double total_run_ms(const RuntimeKernel& kernel);  // over all runs

}  // namespace assay::profile
