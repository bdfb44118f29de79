// Runs and measures a program: a measurement with every step timed, then a few runs recorded step
// by step. Where timing the steps takes time, they are timed in a second measurement.
#pragma once

#include "assay/profile.h"
#include "profile/step_times.h"

namespace assay::profile {

struct Observation {
  bool are_steps_apart = false;  // what timing them took is left out of their times
  Measurement measurement = {};
  std::vector<double> step_means_ms = {};
  std::vector<double> step_medians_ms = {};
  MedianRun at_median = {};
  std::vector<TracedRun> traced_runs = {};
};

// The program has its inputs and has run once, so nothing is left to be set up. `first_run_ms` is
// what that run took, where the caller timed it.
Observation observe(Program& program, const TimingOptions& timing, std::size_t traced_runs,
                    Progress* progress, Clock& clock = steady_clock(),
                    std::optional<double> first_run_ms = {});

// A function that runs the program `runs` times, back to back.
std::function<void(std::size_t runs)> runs_of(Program& program);

// Milliseconds that `work` takes.
template <typename Work>
double timed_ms(Clock& clock, Work work) {
  const std::int64_t start = clock.nanoseconds();
  work();
  return static_cast<double>(clock.nanoseconds() - start) * 1e-6;
}

}  // namespace assay::profile
