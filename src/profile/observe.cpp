#include "profile/observe.h"

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
  return measure(work, timing, progress, clock);
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

Observation observe(Program& program, const TimingOptions& timing, std::size_t traced_runs,
                    Progress* progress, Clock& clock, std::optional<double> first_run_ms) {
  program.observe_steps(true);
  Observation seen;
  StepTimes times(program.steps().size());
  seen.measurement = measured(program, times, timing, progress, clock, first_run_ms);
  if (seen.measurement.samples_ms.empty()) {
    throw Error(ErrorKind::Cancelled, "interrupted before anything was measured");
  }
  seen.step_means_ms = times.means_ms();
  seen.step_medians_ms = times.medians_ms();
  seen.at_median = times.at_median(seen.measurement.samples_ms, seen.measurement.latency.median_ms);
  // After an interruption nothing more is measured.
  const bool in_a_hurry = seen.measurement.cancelled && traced_runs > 0;
  seen.traced_runs = traced(program, in_a_hurry ? 1 : traced_runs, clock);
  return seen;
}

}  // namespace assay::profile
