// What it takes to start and end a step, on an engine with so many threads: measured with steps
// that have next to nothing to do.
#pragma once

#include "assay/program.h"

namespace assay::profile {

// Takes some 50 ms the first time, nothing after that.
double step_overhead_ms(ProgramOptions options);

}  // namespace assay::profile
