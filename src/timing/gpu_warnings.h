// What a GPU's driver reports about a measurement: clocks lowered for heat or for power, other
// programs on the same GPU.
#pragma once

#include <vector>

#include "assay/timing.h"

namespace assay::timing {

// "throttling", "power-limit" and "shared-gpu", where they occurred between these moments.
std::vector<TimingWarning> gpu_warnings(const MachineTimes& before, const MachineTimes& after);

}  // namespace assay::timing
