// Runs work until its time is steady, and learns on the way how many runs a sample must hold.
#pragma once

#include <cstddef>
#include <optional>

#include "assay/timing.h"
#include "timing/clock.h"

namespace assay::timing {

struct WarmUp {
  std::size_t runs = 0;
  std::optional<double> first_run_ns = {};
  double run_ns = 0;  // of a warm run; 0 where nothing ran or the clock saw nothing
  bool cancelled = false;
};

// Steady: the median over a stretch (three timings and 30 ms at least) is no more than 1 % below
// that of the stretch before. Work that only gets slower is as warm as it will be. Ends in any case
// after 30 % of the sampling budget, or at a number of runs that only a clock standing still
// reaches.
WarmUp warm_up(const TimedWork& timed, const TimingOptions& options, const ClockQuality& quality,
               Progress& progress, Clock& clock);

}  // namespace assay::timing
