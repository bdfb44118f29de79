#include "profile/observe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "assay/engine.h"
#include "assay/machine.h"
#include "base/fail.h"

namespace assay::profile {

namespace {

Measurement measured(Program& program, StepTimes& times, const TimingOptions& timing,
                     Progress* progress, Clock& clock, std::optional<double> first_run_ms) {
  std::size_t runs_in_sample = 1;
  const auto run = runs_of(program);
  TimedWork work;
  work.first_run_ms = first_run_ms;
  work.work = [&](std::size_t runs) {
    runs_in_sample = runs;
    program.reset_step_times();
    run(runs);
  };
  work.after_sample = [&] { times.add(program.step_nanoseconds(), runs_in_sample); };
  MachineState& machine = machine_state_for(find_engine(program.engine()).device);
  return measure(work, timing, progress, clock, machine);
}

std::vector<TracedRun> traced(Program& program, std::size_t count, Clock& clock) {
  std::vector<TracedRun> runs;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    program.reset_step_times();
    const std::int64_t start = clock.nanoseconds();
    if (i == 0) begin = start;
    program.run();
    const std::int64_t end = clock.nanoseconds();
    const auto steps = program.step_nanoseconds();
    runs.push_back({start - begin, end - start, {steps.begin(), steps.end()}});
  }
  return runs;
}

}  // namespace

std::function<void(std::size_t runs)> runs_of(Program& program) {
  return [&program](std::size_t runs) {
    for (std::size_t i = 0; i < runs; ++i) program.run();
  };
}

namespace {

void take_steps(const StepTimes& times, const Measurement& runs, Observation& seen) {
  seen.step_means_ms = times.means_ms();
  seen.step_medians_ms = times.medians_ms();
  seen.at_median = times.at_median(runs.samples_ms, runs.latency.median_ms);
}

Measurement measured_with_steps(Program& program, StepTimes& times, TimingOptions timing,
                                bool in_a_hurry, Progress* progress, Clock& clock) {
  constexpr double kShare = 0.5;  // of the time that the latency is given
  timing.min_seconds *= kShare;
  timing.max_seconds *= kShare;
  const TimingOptions once{.fixed_warmup = 0, .fixed_samples = 1};
  Measurement runs;
  if (!in_a_hurry) runs = measured(program, times, timing, progress, clock, {});
  if (runs.samples_ms.empty()) runs = measured(program, times, once, nullptr, clock, {});
  return runs;
}

bool is_on_device(const StepInfo& step) {
  return step.device != "cpu";
}

// What timing took of each step: the same for all of the device, and less than the fastest of them.
double timing_of_a_step(const std::vector<StepInfo>& steps, double longer_ms,
                        const Observation& seen) {
  double each_ms = longer_ms / static_cast<double>(std::ranges::count_if(steps, is_on_device));
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (is_on_device(steps[i])) each_ms = std::min(each_ms, seen.step_medians_ms[i]);
  return std::isfinite(each_ms) ? std::max(0.0, each_ms) : 0;
}

// The two measurements met other conditions, if anything but the timing differs.
void warn_of_difference(double ratio, Measurement& measurement) {
  constexpr double kMuch = 0.1;
  if (std::abs(ratio - 1) <= kMuch) return;
  measurement.warnings.push_back(
      {"steps-apart",
       fmt::format(
           "runs whose steps were timed took {:.0f} % {} than others, less what timing took",
           100 * std::abs(ratio - 1), ratio > 1 ? "longer" : "less"),
       "close other programs and measure again, before comparing layers", false});
}

void leave_out_timing(const std::vector<StepInfo>& steps, const Measurement& runs,
                      Observation& seen) {
  const double median_ms = seen.measurement.latency.median_ms;
  const double each_ms = timing_of_a_step(steps, runs.latency.median_ms - median_ms, seen);
  double whole_ms = runs.latency.median_ms;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!is_on_device(steps[i])) continue;
    whole_ms -= each_ms;
    for (auto* times : {&seen.at_median.steps_ms, &seen.step_means_ms, &seen.step_medians_ms})
      (*times)[i] = std::max(0.0, (*times)[i] - each_ms);
  }
  const double scale = whole_ms > median_ms ? median_ms / whole_ms : 1;
  seen.at_median.run_ms = seen.at_median.between_steps_ms = median_ms;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (auto* times : {&seen.at_median.steps_ms, &seen.step_means_ms, &seen.step_medians_ms})
      (*times)[i] *= scale;
    seen.at_median.between_steps_ms -= seen.at_median.steps_ms[i];
  }
  if (median_ms > 0) warn_of_difference(whole_ms / median_ms, seen.measurement);
}

void time_steps_apart(Program& program, const TimingOptions& timing, Progress* progress,
                      Clock& clock, Observation& seen) {
  program.observe_steps(true);
  program.run();  // sets up the timing
  StepTimes times(program.steps().size());
  const Measurement runs =
      measured_with_steps(program, times, timing, seen.measurement.cancelled, progress, clock);
  seen.measurement.cancelled = seen.measurement.cancelled || runs.cancelled;
  take_steps(times, runs, seen);
  leave_out_timing(program.steps(), runs, seen);
}

}  // namespace

Observation observe(Program& program, const TimingOptions& timing, std::size_t traced_runs,
                    Progress* progress, Clock& clock, std::optional<double> first_run_ms) {
  Observation seen{.are_steps_apart = program.is_observed_apart()};
  program.observe_steps(!seen.are_steps_apart);
  StepTimes times(program.steps().size());
  seen.measurement = measured(program, times, timing, progress, clock, first_run_ms);
  if (seen.measurement.samples_ms.empty()) {
    throw Error(ErrorKind::Cancelled, "interrupted before anything was measured");
  }
  if (seen.are_steps_apart) {
    time_steps_apart(program, timing, progress, clock, seen);
  } else {
    take_steps(times, seen.measurement, seen);
  }
  // After an interruption nothing more is measured.
  const bool in_a_hurry = seen.measurement.cancelled && traced_runs > 0;
  seen.traced_runs = traced(program, in_a_hurry ? 1 : traced_runs, clock);
  return seen;
}

}  // namespace assay::profile
