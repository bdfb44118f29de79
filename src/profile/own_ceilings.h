// Ceilings of this machine for a caller who provides none: few tries, only the thread count and
// precision that are needed.
#pragma once

#include "assay/machine.h"

namespace assay::profile {

// Measured on the first call, which takes a second or two, then cached.
Machine quickly_measured(int threads, Progress* progress = nullptr);

// Always measured again.
Ceilings measured_again(const Topology& topology, int threads, Progress* progress = nullptr);

}  // namespace assay::profile
