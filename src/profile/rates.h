// Work over time, and how near that comes to what the machine could do.
#pragma once

#include "assay/profile.h"

namespace assay {

struct WorkDone {
  double time_ms = 0;
  std::optional<double> nominal_flops = {};  // missing where it could not be counted
  double executed_flops = 0;
  double bytes = 0;
};

Rates rates_of(const WorkDone& work, const QuickCeiling& ceiling);

// Under which ceiling most of the time was spent; missing without ceilings.
std::optional<Bound> bottleneck_of(const std::vector<ProfileStep>& steps,
                                   const QuickCeiling& ceiling);

// Work against the peak, 0..1; missing without one.
std::optional<double> efficiency_of(double executed_gflops_per_second, const QuickCeiling& ceiling);

}  // namespace assay
