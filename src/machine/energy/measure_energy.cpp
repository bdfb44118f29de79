#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "assay/energy.h"
#include "base/fail.h"
#include "machine/energy/window.h"

namespace assay {

using namespace assay::machine;

namespace {

constexpr double kLooksPerUpdate = 20;
constexpr std::size_t kChangesWanted = 20;
constexpr std::size_t kChangesNeeded = 4;
constexpr double kLongestWatch = 3;           // seconds
constexpr double kCancelCheckSeconds = 0.05;  // between two checks for cancellation

std::optional<std::int64_t> counted_sum(EnergyMeter& meter) {
  const std::vector<MeterValue> values = meter.read();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!meter.info().channels[i].is_counted) continue;
    if (!values[i].value) return {};
    sum += *values[i].value;
  }
  return sum;
}

// Milliseconds between successive changes.
std::vector<double> watch_changes(EnergyMeter& meter, Pace& pace) {
  const double expected = meter.info().update_ms * 1e-3;
  const double longest = std::min(kLongestWatch, 2 * kChangesWanted * expected + 0.1);
  const std::int64_t start = pace.nanoseconds();
  std::vector<double> gaps;
  std::optional<std::int64_t> changed_at;
  auto last = counted_sum(meter);
  while (gaps.size() < kChangesWanted) {
    pace.wait(expected / kLooksPerUpdate);
    const std::int64_t now_ns = pace.nanoseconds();
    if (static_cast<double>(now_ns - start) * 1e-9 > longest) break;
    const auto now = counted_sum(meter);
    if (!now || now == last) continue;
    if (changed_at) gaps.push_back(static_cast<double>(now_ns - *changed_at) * 1e-6);
    changed_at = now_ns;
    last = now;
  }
  return gaps;
}

void find_update_period(EnergyMeter& meter, Pace& pace) {
  std::vector<double> gaps = watch_changes(meter, pace);
  if (gaps.size() < kChangesNeeded) {
    meter.found_update(meter.info().update_ms);  // as documented; observing again would not help
    return;
  }
  std::ranges::sort(gaps);
  meter.found_update(gaps[gaps.size() / 2]);
}

void check(const EnergyOptions& options) {
  const bool is_sound = options.min_seconds > 0 && options.max_seconds >= options.min_seconds &&
                        options.idle_seconds >= 0 && std::isfinite(options.max_seconds) &&
                        std::isfinite(options.idle_seconds);
  if (is_sound) return;
  fail_usage(
      "energy: a window of {} to {} s after {} s of idling is not possible: give 0 < min <= max "
      "and "
      "idle >= 0",
      options.min_seconds, options.max_seconds, options.idle_seconds);
}

void stop_if_cancelled(const Progress* progress) {
  if (progress != nullptr && progress->cancelled()) {
    throw Error(ErrorKind::Cancelled, "energy: cancelled");
  }
}

double seconds_since(std::int64_t start, Pace& pace) {
  return static_cast<double>(pace.nanoseconds() - start) * 1e-9;
}

EnergyReading measure_idle(EnergyMeter& meter, double seconds, Progress* progress, Pace& pace) {
  EnergyWindow window(meter, pace);
  const std::int64_t start = pace.nanoseconds();
  for (double left = seconds; left > 0; left = seconds - seconds_since(start, pace)) {
    stop_if_cancelled(progress);
    pace.wait(std::min(left, kCancelCheckSeconds));
  }
  return window.finish();
}

// Nothing, with a flag, if the idle power could not be measured completely.
std::optional<double> idle_watts(const EnergyReading& idle, std::vector<EnergyFlag>& flags) {
  const auto problem = std::ranges::find_if(
      idle.flags, [](const EnergyFlag& flag) { return flag.name != "missed-readings"; });
  if (problem != idle.flags.end()) {
    flags.push_back({"no-idle", "the idle power could not be measured: " + problem->message});
    return {};
  }
  return *idle.gross_j / idle.seconds;
}

EnergyReading measure_runs(EnergyMeter& meter, const std::function<void()>& run, double seconds,
                           std::optional<double> idle, Progress* progress, Pace& pace) {
  EnergyWindow window(meter, pace);
  const std::int64_t start = pace.nanoseconds();
  std::size_t runs = 0;
  double taken = 0;
  do {
    run();
    ++runs;
    taken = seconds_since(start, pace);
    stop_if_cancelled(progress);
    if (progress != nullptr) progress->report(std::min(1.0, taken / seconds), "energy");
  } while (taken < seconds);
  EnergyReading reading = window.finish(idle);
  reading.runs = runs;
  return reading;
}

}  // namespace

double shortest_window_ms(EnergyMeter& meter, Pace& pace) {
  const bool is_counter = meter.info().kind == MeterKind::Energy;
  if (is_counter && !meter.info().is_update_found) find_update_period(meter, pace);
  return window_needed_ms(meter.info());
}

EnergyReading measure_energy(EnergyMeter& meter, const std::function<void()>& run,
                             const EnergyOptions& options, Progress* progress, Pace& pace) {
  check(options);
  const double needed = shortest_window_ms(meter, pace) * 1e-3;
  std::vector<EnergyFlag> flags;
  std::optional<double> idle;
  if (options.idle_seconds > 0) {
    const double seconds = std::max(options.idle_seconds, needed);
    idle = idle_watts(measure_idle(meter, seconds, progress, pace), flags);
  }
  const double seconds = std::min(std::max(options.min_seconds, needed), options.max_seconds);
  EnergyReading reading = measure_runs(meter, run, seconds, idle, progress, pace);
  reading.flags.insert(reading.flags.end(), flags.begin(), flags.end());
  return reading;
}

}  // namespace assay
