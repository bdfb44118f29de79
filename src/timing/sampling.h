// Takes samples until the interval of the median is narrow enough or a budget ends.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "assay/timing.h"
#include "stats/median_interval.h"

namespace assay::timing {

struct Sampling {
  std::vector<double> samples_ms;
  double elapsed_seconds = 0;
  stats::MedianEstimate estimate = {};
  std::string unmet = "";
  bool cancelled = false;
};

// The interval is checked only when a quarter more samples have been taken: each check is a chance
// to stop at an interval that is narrow by luck.
Sampling take_samples(const TimedWork& timed, const TimingOptions& options, std::size_t runs,
                      Progress& progress, Clock& clock);

}  // namespace assay::timing
