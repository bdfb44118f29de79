// The cost and the resolution of a clock, and how long a sample must be in comparison.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/timing.h"

namespace assay::timing {

struct ClockQuality {
  double cost_ns = 0;        // of one reading
  double resolution_ns = 1;  // smallest step seen; 1 where none was
};
ClockQuality probe(Clock& clock);

// The clock's share of a sample: its cost or its step, whichever is more, over the sample's length.
double clock_share(const ClockQuality& quality, double sample_ns);

// How many runs a sample must have. A run as long as a thousand clock readings is timed alone,
// since individual times are worth more than the last 0.1 %; shorter runs are combined until the
// clock's share is 0.01 %.
std::size_t runs_needed(const ClockQuality& quality, double run_ns);

inline constexpr std::size_t kMostRunsPerSample = std::size_t{1} << 20;
inline constexpr double kShareAlone = 1e-3;
inline constexpr double kShareTogether = 1e-4;

// Nanoseconds that `runs` runs take; never negative.
double time_runs(const TimedWork& timed, std::size_t runs, Clock& clock);

}  // namespace assay::timing
