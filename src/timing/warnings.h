// What is wrong with a measurement: each problem is a named warning with figures and advice.
#pragma once

#include <optional>
#include <vector>

#include "assay/timing.h"
#include "timing/clock.h"

namespace assay::timing {

struct Circumstances {
  double target = 0.01;
  double effective_samples = 0;
  ClockQuality clock = {};
  bool first_run_is_a_sample = false;
  std::optional<MachineTimes> before = {};  // sampling
  std::optional<MachineTimes> after = {};
};

std::vector<TimingWarning> find_warnings(const Measurement& measured,
                                         const Circumstances& circumstances);

}  // namespace assay::timing
