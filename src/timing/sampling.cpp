#include "timing/sampling.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "timing/clock.h"

namespace assay::timing {

namespace {

constexpr double kGrowthBetweenLooks = 1.25;
// Autocorrelated samples need a longer series to show how strongly they are correlated.
constexpr double kFewestWhenCorrelated = 50;
constexpr double kSecondsBetweenReports = 0.05;

bool is_correlated(const stats::MedianEstimate& estimate, std::size_t samples) {
  return estimate.effective_samples < static_cast<double>(samples);
}

double samples_required(const stats::MedianEstimate& estimate, std::size_t samples) {
  return is_correlated(estimate, samples) ? kFewestWhenCorrelated : stats::kFewestForInterval;
}

bool has_enough(const stats::MedianEstimate& estimate, std::size_t samples) {
  return estimate.effective_samples >= samples_required(estimate, samples);
}

class Sampler {
 public:
  Sampler(const TimedWork& timed, const TimingOptions& options, std::size_t runs,
          Progress& progress, Clock& clock)
      : timed_(timed), options_(options), runs_(runs), progress_(progress), clock_(clock) {}

  Sampling run() {
    start_ns_ = clock_.nanoseconds();
    do {
      take_one();
      taken_.cancelled = progress_.cancelled();
    } while (!taken_.cancelled && !is_done());
    if (looked_at_ != count()) look();
    taken_.unmet = unmet();
    return std::move(taken_);
  }

 private:
  std::size_t count() const { return taken_.samples_ms.size(); }

  void take_one() {
    const double total_ns = time_runs(timed_, runs_, clock_);
    taken_.samples_ms.push_back(total_ns / static_cast<double>(runs_) / 1e6);
    if (timed_.after_sample) timed_.after_sample();
    const std::int64_t now_ns = clock_.nanoseconds();
    taken_.elapsed_seconds = static_cast<double>(now_ns - start_ns_) / 1e9;
    progress_.sampled(count());
    report();
    start_ns_ += clock_.nanoseconds() - now_ns;  // time spent in the listener does not count
  }

  void report() {
    if (taken_.elapsed_seconds - reported_at_ < kSecondsBetweenReports && count() > 1) return;
    reported_at_ = taken_.elapsed_seconds;
    progress_.report(std::min(1.0, fraction_done()), "measuring");
  }

  double fraction_done() const {
    const auto taken = static_cast<double>(count());
    if (options_.fixed_samples) return taken / static_cast<double>(*options_.fixed_samples);
    return std::max(taken / static_cast<double>(options_.max_samples),
                    taken_.elapsed_seconds / options_.max_seconds);
  }

  bool is_done() {
    if (options_.fixed_samples) return count() >= *options_.fixed_samples;
    if (is_budget_spent()) return true;
    const bool has_minimum =
        count() >= options_.min_samples && taken_.elapsed_seconds >= options_.min_seconds;
    if (!has_minimum || count() < next_look_) return false;
    look();
    const auto grown = std::ceil(static_cast<double>(count()) * kGrowthBetweenLooks);
    next_look_ = static_cast<std::size_t>(grown);
    const auto& estimate = taken_.estimate;
    return has_settled(has_enough(estimate, count()) && estimate.cautious_error <= options_.target);
  }

  // The autocorrelation is itself uncertain: one narrow interval may be luck, so correlated samples
  // need two in a row.
  bool has_settled(bool narrow) {
    const bool was_narrow = std::exchange(was_narrow_, narrow);
    return narrow && (was_narrow || !is_correlated(taken_.estimate, count()));
  }

  bool is_budget_spent() const {
    return count() >= options_.max_samples || taken_.elapsed_seconds >= options_.max_seconds;
  }

  void look() {
    taken_.estimate = stats::estimate_median(taken_.samples_ms);
    looked_at_ = count();
  }

  std::string unmet() const {
    const bool has_minimum = options_.fixed_samples || count() >= options_.min_samples;
    const bool is_narrow = taken_.estimate.relative_error <= options_.target;
    if (has_minimum && is_narrow && has_enough(taken_.estimate, count())) return "";
    return fmt::format("{}, {}", shortfall(), when_it_ended());
  }

  std::string shortfall() const {
    const auto& estimate = taken_.estimate;
    if (static_cast<double>(count()) < stats::kFewestForInterval) {
      return fmt::format("{} of the {} samples that a 95 % interval needs", count(),
                         stats::kFewestForInterval);
    }
    if (estimate.relative_error > options_.target) {
      return fmt::format("the interval is {}, target ±{:.2g} %",
                         interval_text(estimate.median, estimate.ci95.low, estimate.ci95.high),
                         100 * options_.target);
    }
    if (count() < options_.min_samples) {
      return fmt::format("{} of {} samples", count(), options_.min_samples);
    }
    return fmt::format("successive samples are correlated: {} count as {:.0f}, {:.0f} needed",
                       with_thousands(static_cast<std::int64_t>(count())),
                       estimate.effective_samples, samples_required(estimate, count()));
  }

  std::string when_it_ended() const {
    if (taken_.cancelled) return fmt::format("cancelled after {:.1f} s", taken_.elapsed_seconds);
    const bool time_ended =
        !options_.fixed_samples && taken_.elapsed_seconds >= options_.max_seconds;
    if (time_ended) return fmt::format("after {:.1f} s", taken_.elapsed_seconds);
    const auto samples = static_cast<std::int64_t>(count());
    return fmt::format("after {} sample{}", with_thousands(samples), samples == 1 ? "" : "s");
  }

  const TimedWork& timed_;
  const TimingOptions& options_;
  std::size_t runs_ = 1;
  Progress& progress_;
  Clock& clock_;
  std::int64_t start_ns_ = 0;
  double reported_at_ = 0;
  std::size_t next_look_ = 0;
  std::size_t looked_at_ = 0;
  bool was_narrow_ = false;
  Sampling taken_;
};

}  // namespace

Sampling take_samples(const TimedWork& timed, const TimingOptions& options, std::size_t runs,
                      Progress& progress, Clock& clock) {
  return Sampler(timed, options, runs, progress, clock).run();
}

}  // namespace assay::timing
