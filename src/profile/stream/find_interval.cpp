// The shortest interval that a stream can keep up with: bisection between a sustainable interval
// and one that is not, then a confirmation of the result.
#include <algorithm>
#include <cmath>

#include "assay/stream.h"
#include "assay/stream_timing.h"
#include "base/fail.h"
#include "stats/order_statistics.h"

namespace assay {

namespace {

constexpr double kStep = 1.5;          // from an interval to the next, before both ends are known
constexpr double kProbes = 12;         // that the budget should suffice for
constexpr double kForBisecting = 0.6;  // of the budget; the rest confirms
constexpr double kMayMiss = 0.01;      // of the items, where there is a deadline
constexpr double kFewestProbeItems = 20;  // in a probe
constexpr double kMostProbeItems = 20'000;

// A probe is a small part of the search: its own progress is not reported.
class Quietly : public Progress {
 public:
  explicit Quietly(const Progress& whole) : whole_(whole) {}
  bool cancelled() const override { return whole_.cancelled(); }

 private:
  const Progress& whole_;
};

class Search {
 public:
  Search(const std::function<void()>& serve, const IntervalSearchOptions& options,
         Progress& progress, PacedClock& clock)
      : serve_(serve), options_(options), progress_(progress), clock_(clock) {}

  IntervalSearch run() {
    start_ns_ = clock_.nanoseconds();
    bracket(typical_service_ms() * 1.25);
    bisect();
    confirm();
    found_.interval_ms = shortest_sustainable();
    found_.elapsed_seconds = elapsed_seconds();
    found_.cancelled = progress_.cancelled();
    return std::move(found_);
  }

 private:
  double elapsed_seconds() const {
    return static_cast<double>(clock_.nanoseconds() - start_ns_) * 1e-9;
  }

  bool goes_on(double part_of_budget = 1) {
    const double done = elapsed_seconds() / options_.budget_seconds;
    progress_.report(std::min(1.0, done), "looking for the shortest interval");
    return done < part_of_budget && !progress_.cancelled();
  }

  double typical_service_ms() {
    constexpr std::size_t kRuns = 7;
    std::vector<double> times;
    for (std::size_t i = 0; i < kRuns && (i < 2 || goes_on()); ++i) {
      const std::int64_t start = clock_.nanoseconds();
      serve_();
      times.push_back(static_cast<double>(clock_.nanoseconds() - start) * 1e-6);
    }
    return std::max(kShortestIntervalMs, stats::median(times));
  }

  bool probe(double interval_ms, double times_as_long = 1) {
    const double seconds = times_as_long * options_.budget_seconds / kProbes;
    const double items =
        std::clamp(std::floor(seconds * 1000 / interval_ms), kFewestProbeItems, kMostProbeItems);
    const StreamOptions stream{.interval_ms = interval_ms,
                               .deadline_ms = options_.deadline_ms,
                               .items = static_cast<std::size_t>(items),
                               .warmup_runs = 0};
    const auto measured = streamed(stream);
    if (!measured) return false;
    const bool keeps_up = measured->verdict == StreamVerdict::Sustainable;
    const bool is_in_time = !options_.deadline_ms || measured->missed_share() <= kMayMiss;
    found_.probes.push_back({interval_ms, measured->verdict, measured->utilization,
                             measured->missed_share(), keeps_up && is_in_time});
    return keeps_up && is_in_time;
  }

  // Nothing if it was cut short.
  std::optional<StreamMeasurement> streamed(const StreamOptions& stream) {
    Quietly quietly(progress_);
    try {
      StreamMeasurement measured = measure_stream(serve_, stream, &quietly, clock_);
      if (measured.cancelled) return {};
      return measured;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Cancelled) throw;
      return {};
    }
  }

  // Finds one interval that is sustainable and one that is not.
  void bracket(double interval_ms) {
    while (goes_on() && (!high_ms_ || !low_ms_)) {
      const bool is_in_range =
          interval_ms >= kShortestIntervalMs && interval_ms <= kLongestIntervalMs;
      if (!is_in_range) return;
      (probe(interval_ms) ? high_ms_ : low_ms_) = interval_ms;
      interval_ms = high_ms_ ? interval_ms / kStep : interval_ms * kStep;
    }
  }

  bool is_near_enough() const { return *high_ms_ <= *low_ms_ * (1 + options_.tolerance); }

  void bisect() {
    while (high_ms_ && low_ms_ && !is_near_enough() && goes_on(kForBisecting)) {
      const double middle_ms = std::sqrt(*high_ms_ * *low_ms_);
      (probe(middle_ms) ? high_ms_ : low_ms_) = middle_ms;
    }
  }

  // If the result fails in the longer run, the steps to longer intervals grow.
  void confirm() {
    for (double further = options_.tolerance; high_ms_ && goes_on(); further *= 4) {
      found_.is_confirmed = probe(*high_ms_, 2);
      if (found_.is_confirmed) return;
      high_ms_ = *high_ms_ * (1 + further);
    }
  }

  // Longer than all intervals that failed.
  std::optional<double> shortest_sustainable() const {
    double failed_ms = 0;
    for (const IntervalProbe& probe : found_.probes) {
      if (!probe.is_sustainable) failed_ms = std::max(failed_ms, probe.interval_ms);
    }
    std::optional<double> shortest;
    for (const IntervalProbe& probe : found_.probes) {
      const bool qualifies = probe.is_sustainable && probe.interval_ms > failed_ms;
      if (qualifies && probe.interval_ms < shortest.value_or(kLongestIntervalMs + 1)) {
        shortest = probe.interval_ms;
      }
    }
    return shortest;
  }

  const std::function<void()>& serve_;
  const IntervalSearchOptions& options_;
  Progress& progress_;
  PacedClock& clock_;
  std::int64_t start_ns_ = 0;
  std::optional<double> high_ms_ = {};  // was sustainable
  std::optional<double> low_ms_ = {};   // was not
  IntervalSearch found_ = {};
};

}  // namespace

IntervalSearch find_shortest_interval(const std::function<void()>& serve,
                                      const IntervalSearchOptions& options, Progress* progress,
                                      PacedClock& clock) {
  if (!serve) fail_usage("there is no work to stream");
  const bool is_sound =
      options.budget_seconds > 0 && std::isfinite(options.budget_seconds) && options.tolerance > 0;
  if (!is_sound) {
    fail_usage("a search of {} s within {}: expected both above 0", options.budget_seconds,
               options.tolerance);
  }
  Progress no_progress;
  return Search(serve, options, progress ? *progress : no_progress, clock).run();
}

}  // namespace assay
