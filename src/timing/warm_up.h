// Runs work until its time is steady, and finds the time of a run for choosing the runs per sample.
#pragma once

#include <cstddef>
#include <optional>

#include "assay/timing.h"
#include "timing/clock.h"

namespace assay::timing {

struct WarmUp {
  std::size_t runs = 0;
  std::optional<double> first_run_ns = {};
  double run_ns = 0;  // of a warm run; 0 if nothing ran or the clock did not advance
  bool cancelled = false;
};

// Steady: the median over a window (three timings and 30 ms at least) is no more than 1 % below
// that of the window before. Work that only gets slower counts as warm. Ends in any case after 30 %
// of the sampling budget, or at a number of runs that is reached only if the clock stands still.
WarmUp warm_up(const TimedWork& timed, const TimingOptions& options, const ClockQuality& quality,
               Progress& progress, Clock& clock);

}  // namespace assay::timing
