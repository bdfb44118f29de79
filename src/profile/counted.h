// Sums of what counters told.
#pragma once

#include "assay/counters.h"

namespace assay::profile {

// An event that one side did not count stays missing.
void add_to(const CounterValues& more, CounterValues& sum);
CounterValues divided(CounterValues sum, double by);

}  // namespace assay::profile
