// Sums of performance counter values.
#pragma once

#include "assay/counters.h"

namespace assay::profile {

// An event missing on one side stays missing.
void add_to(const CounterValues& more, CounterValues& sum);
CounterValues divided(CounterValues sum, double by);

}  // namespace assay::profile
