// The time to start and end a step, for an engine and its threads: measured with steps that do
// almost nothing.
#pragma once

#include "assay/program.h"

namespace assay::profile {

// Takes some 50 ms the first time, nothing after that.
double step_overhead_ms(ProgramOptions options);

}  // namespace assay::profile
