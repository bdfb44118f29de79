// Ceilings of this machine for a caller who brings none: few tries, the one thread count and
// precision that are needed.
#pragma once

#include "assay/machine.h"

namespace assay::profile {

// Measured the first time, which takes a second or two, and known after that.
Machine quickly_measured(int threads, Progress* progress = nullptr);

// Measured again, in any case.
Ceilings measured_again(const Topology& topology, int threads, Progress* progress = nullptr);

}  // namespace assay::profile
