// The machine that results are measured on.
#pragma once

#include <vector>

#include "assay/machine.h"
#include "assay/sweep_config.h"
#include "assay/sweep_result.h"

namespace assay::sweep {

// With its ceilings, if they were measured before.
SweepHost this_host();

// Measures ceilings in a process of its own and keeps them in the cache, if the configuration
// needs them and they are not there.
void measure_ceilings_if_needed(const SweepConfig& config, Progress* progress,
                                std::vector<std::string>& warnings);

}  // namespace assay::sweep
