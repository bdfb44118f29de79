#include "timing/warm_up.h"

#include <algorithm>
#include <vector>

#include "stats/order_statistics.h"

namespace assay::timing {

namespace {

constexpr double kStretchNs = 30e6;
constexpr std::size_t kStretchTimings = 3;
constexpr double kStillFalling = 0.99;
constexpr double kBudgetShare = 0.3;
constexpr std::size_t kMostTimings = 20'000;
constexpr std::size_t kMostRuns = 4 * kMostRunsPerSample;

class Warmer {
 public:
  Warmer(const TimedWork& timed, Progress& progress, Clock& clock, double budget_ns)
      : timed_(timed), progress_(progress), clock_(clock), budget_ns_(budget_ns) {}

  // Nanoseconds per run.
  double time_a_run_of(std::size_t runs) {
    const double total = time_runs(timed_, runs, clock_);
    spent_ns_ += total;
    ++timings_;
    warm_.runs += runs;
    warm_.run_ns = total / static_cast<double>(runs);
    if (!warm_.first_run_ns) warm_.first_run_ns = warm_.run_ns;
    report();
    return warm_.run_ns;
  }

  bool is_cancelled() {
    warm_.cancelled = warm_.cancelled || progress_.cancelled();
    return warm_.cancelled;
  }

  bool may_go_on() {
    return !is_cancelled() && spent_ns_ < budget_ns_ && timings_ < kMostTimings &&
           warm_.runs < kMostRuns;
  }

  double spent_ns() const { return spent_ns_; }
  const WarmUp& result() const { return warm_; }
  void set_run_ns(double run_ns) { warm_.run_ns = run_ns; }

 private:
  void report() {
    const double fraction = budget_ns_ > 0 ? std::min(1.0, spent_ns_ / budget_ns_) : 1.0;
    progress_.report(fraction, "warming up");
  }

  const TimedWork& timed_;
  Progress& progress_;
  Clock& clock_;
  double budget_ns_ = 0;
  double spent_ns_ = 0;
  std::size_t timings_ = 0;
  WarmUp warm_;
};

// Doubles the number of runs until they last long enough for the clock.
std::size_t find_block(Warmer& warmer, const ClockQuality& quality) {
  std::size_t runs = 1;
  while (warmer.may_go_on()) {
    const double run_ns = warmer.time_a_run_of(runs);
    const std::size_t needed = runs_needed(quality, run_ns);
    if (needed <= runs || runs >= kMostRunsPerSample) break;
    runs = std::min(needed, 2 * runs);
  }
  return runs;
}

// The median time of a run over one window; nothing if it had to end early.
std::optional<double> time_stretch(Warmer& warmer, std::size_t block) {
  std::vector<double> runs_ns;
  const double start = warmer.spent_ns();
  while (runs_ns.size() < kStretchTimings || warmer.spent_ns() - start < kStretchNs) {
    if (!warmer.may_go_on()) return std::nullopt;
    runs_ns.push_back(warmer.time_a_run_of(block));
  }
  return stats::median(runs_ns);
}

WarmUp until_steady(Warmer& warmer, const ClockQuality& quality) {
  warmer.time_a_run_of(1);
  const std::size_t block = find_block(warmer, quality);
  auto before = time_stretch(warmer, block);
  while (before) {
    const auto now = time_stretch(warmer, block);
    if (!now) break;
    warmer.set_run_ns(*now);
    if (*now >= kStillFalling * *before) break;
    before = now;
  }
  return warmer.result();
}

// The first run alone, then ever larger blocks, so that the last gives the time of a warm run.
WarmUp exactly(Warmer& warmer, std::size_t wanted) {
  std::size_t block = 1;
  while (warmer.result().runs < wanted && !warmer.is_cancelled()) {
    const std::size_t done = warmer.result().runs;
    warmer.time_a_run_of(std::min(block, wanted - done));
    if (done > 0) block *= 2;
  }
  return warmer.result();
}

}  // namespace

WarmUp warm_up(const TimedWork& timed, const TimingOptions& options, const ClockQuality& quality,
               Progress& progress, Clock& clock) {
  Warmer warmer(timed, progress, clock, kBudgetShare * options.max_seconds * 1e9);
  if (options.fixed_warmup) return exactly(warmer, *options.fixed_warmup);
  return until_steady(warmer, quality);
}

}  // namespace assay::timing
