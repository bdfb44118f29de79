#include "assay/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/fail.h"
#include "stats/median_interval.h"
#include "stats/order_statistics.h"
#include "stats/paired_shift.h"

namespace assay {

namespace {

constexpr double kScore = 1.96;
// The value that represents a turn. Other load only adds time, in phases that may or may not reach
// the median by chance; a lower quantile is affected less often.
constexpr double kQuietQuantile = 0.25;

std::vector<double> process_medians(std::span<const ProcessSamples> processes,
                                    std::string_view side) {
  std::vector<double> medians;
  for (const auto& samples : processes) {
    const double middle = stats::median(samples.values);
    if (!(middle > 0) || !std::isfinite(middle)) {
      fail_bad_input("process {} of {}: its median time is {}, it must be above 0",
                     medians.size() + 1, side, middle);
    }
    medians.push_back(middle);
  }
  return medians;
}

// The samples of each complete turn; those after the last one have no counterpart.
std::vector<double> quiet_times(const ProcessSamples& process) {
  const std::span<const double> values = process.values;
  const auto quiet_time = [](std::span<const double> samples) {
    return stats::quantile_of_sorted(stats::sorted(samples), kQuietQuantile);
  };
  std::vector<double> times;
  std::size_t begin = 0;
  for (const std::size_t end : process.turn_ends) {
    times.push_back(quiet_time(values.subspan(begin, end - begin)));
    begin = end;
  }
  if (times.empty()) times.push_back(quiet_time(values));
  return times;
}

// Of each turn of B and the turn of A next to it.
std::vector<double> turn_logs(const ProcessSamples& b, const ProcessSamples& a) {
  const auto above = quiet_times(b);
  const auto below = quiet_times(a);
  std::vector<double> logs;
  for (std::size_t turn = 0; turn < std::min(above.size(), below.size()); ++turn) {
    logs.push_back(std::log(above[turn] / below[turn]));
  }
  return logs;
}

// The 95 % interval of a pair's log ratio, from the variation within its processes alone.
stats::Interval interval_within(const ProcessSamples& b, const ProcessSamples& a) {
  const auto logs = turn_logs(b, a);
  if (static_cast<double>(logs.size()) >= stats::kFewestForInterval)
    return stats::estimate_median(logs).ci95;
  const auto ratio = stats::ratio_of_medians(b.values, a.values);
  return ratio.low > 0 ? stats::Interval{std::log(ratio.low), std::log(ratio.high)}
                       : stats::Interval{};
}

double variance_within(const ProcessSamples& b, const ProcessSamples& a) {
  const auto interval = interval_within(b, a);
  const double deviation = (interval.high - interval.low) / 2 / kScore;
  return deviation * deviation;
}

// With too few pairs to see how processes differ: the assumed deviation, or the observed one if
// that is larger.
stats::Shift shift_of_few(std::span<const ProcessSamples> a, std::span<const ProcessSamples> b,
                          std::span<const double> logs, const ComparisonOptions& options) {
  double within = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) within += variance_within(b[i], a[i]);
  const auto count = static_cast<double>(logs.size());
  const double deviation = options.assumed_process_deviation;
  const double assumed = 2 * deviation * deviation + within / count;
  const auto [mean, seen] = stats::moments(logs);
  const double half_width = kScore * std::sqrt(std::max(assumed, seen * seen) / count);
  return {mean, {mean - half_width, mean + half_width}};
}

// Of the processes' typical median: from their spread, or for few processes from the assumed
// deviation and the samples.
ValueRange range_of_medians(std::span<const ProcessSamples> processes,
                            std::span<const double> medians, const ComparisonOptions& options) {
  std::vector<double> logs;
  for (const double middle : medians) logs.push_back(std::log(middle));
  const auto count = static_cast<double>(logs.size());
  if (count >= stats::kFewestForInterval) {
    const stats::Interval range = stats::paired_shift(logs).ci95;
    return {std::exp(range.low), std::exp(range.high)};
  }
  double variance = options.assumed_process_deviation * options.assumed_process_deviation;
  for (const auto& process : processes) {
    const double deviation = stats::estimate_median(process.values).cautious_error / kScore;
    variance += deviation * deviation / count;
  }
  const double half_width = kScore * std::sqrt(variance / count);
  const double middle = stats::median(medians);
  return {middle * std::exp(-half_width), middle * std::exp(half_width)};
}

// By how much (log) other programs, or whatever else slowed most runs, may have shifted the median:
// the fastest run is what the machine can do.
double disturbance(std::span<const double> samples) {
  const double fastest = std::ranges::min(samples);
  return fastest > 0 ? std::log(stats::median(samples) / fastest) : 0;
}

ComparisonVerdict judge(const Comparison& comparison, double threshold) {
  const double low = comparison.ci95_low - 1;
  const double high = comparison.ci95_high - 1;
  if (high < -threshold) return ComparisonVerdict::Faster;
  if (low > threshold) return ComparisonVerdict::Slower;
  const auto lies_within = [&](double limit) { return low >= -limit && high <= limit; };
  const bool holds_one = low <= 0 && high >= 0;
  if (lies_within(threshold) || (holds_one && lies_within(2 * threshold))) {
    return ComparisonVerdict::Same;
  }
  return ComparisonVerdict::Undecided;
}

std::string explain(const Comparison& comparison, double threshold) {
  return fmt::format(
      "B compared with A: {:+.2f} % time ({:+.2f} % to {:+.2f} %) over {} pair{}, "
      "a change within ±{:.2g} % is noise",
      100 * (comparison.ratio - 1), 100 * (comparison.ci95_low - 1),
      100 * (comparison.ci95_high - 1), comparison.pairs, comparison.pairs == 1 ? "" : "s",
      100 * threshold);
}

void check_turns(std::span<const ProcessSamples> processes) {
  for (const auto& process : processes) {
    std::size_t begin = 0;
    for (const std::size_t end : process.turn_ends) {
      if (end <= begin || end > process.values.size()) {
        fail_bad_input("a turn from sample {} to {} of {}: each needs some", begin, end,
                       process.values.size());
      }
      begin = end;
    }
  }
}

void check(std::size_t a_count, std::size_t b_count, const ComparisonOptions& options) {
  if (a_count == 0 || a_count != b_count) {
    fail_usage("{} processes of A and {} of B: run them in pairs, at least one", a_count, b_count);
  }
  if (!(options.threshold > 0)) {
    fail_usage("threshold {}: a change that counts must be above 0", options.threshold);
  }
}

}  // namespace

std::string_view name(ComparisonVerdict verdict) {
  switch (verdict) {
    case ComparisonVerdict::Faster:
      return "FASTER";
    case ComparisonVerdict::Slower:
      return "SLOWER";
    case ComparisonVerdict::Same:
      return "SAME";
    case ComparisonVerdict::Undecided:
      break;
  }
  return "UNDECIDED";
}

Comparison compare_samples(std::span<const ProcessSamples> a_processes,
                           std::span<const ProcessSamples> b_processes,
                           const ComparisonOptions& options) {
  check(a_processes.size(), b_processes.size(), options);
  const auto a_medians = process_medians(a_processes, "A");
  const auto b_medians = process_medians(b_processes, "B");
  check_turns(a_processes);
  check_turns(b_processes);
  std::vector<double> logs;
  for (std::size_t i = 0; i < a_processes.size(); ++i) {
    logs.push_back(stats::median(turn_logs(b_processes[i], a_processes[i])));
  }
  const bool can_see_processes = static_cast<double>(logs.size()) >= stats::kFewestForInterval;
  const stats::Shift shift = can_see_processes
                                 ? stats::paired_shift(logs)
                                 : shift_of_few(a_processes, b_processes, logs, options);
  Comparison comparison;
  comparison.ratio = std::exp(shift.estimate);
  comparison.ci95_low = std::exp(shift.ci95.low);
  comparison.ci95_high = std::exp(shift.ci95.high);
  comparison.pairs = logs.size();
  comparison.median_a = stats::median(a_medians);
  comparison.median_b = stats::median(b_medians);
  comparison.median_b_ci95 = range_of_medians(b_processes, b_medians, options);
  comparison.verdict = judge(comparison, options.threshold);
  comparison.explanation = explain(comparison, options.threshold);
  return comparison;
}

Comparison compare_stored(const std::vector<double>& a, const std::vector<double>& b,
                          const ComparisonOptions& options) {
  check(1, 1, options);
  const std::vector<ProcessSamples> b_process = {{b}};
  const auto b_median = process_medians(b_process, "B");
  Comparison comparison;
  comparison.pairs = 1;
  comparison.median_a = process_medians(std::vector<ProcessSamples>{{a}}, "A").front();
  comparison.median_b = b_median.front();
  comparison.median_b_ci95 = range_of_medians(b_process, b_median, options);
  comparison.ratio = comparison.median_b / comparison.median_a;
  const auto within = stats::ratio_of_medians(b, a);
  const double processes = std::numbers::sqrt2 * options.assumed_process_deviation;
  const double between = kScore * std::hypot(processes, disturbance(a), disturbance(b));
  const auto widened = [&](double end) {
    return std::hypot(std::log(end / comparison.ratio), between);
  };
  comparison.ci95_low = comparison.ratio * std::exp(-widened(within.low));
  comparison.ci95_high = comparison.ratio * std::exp(widened(within.high));
  const bool can_judge = std::min(a.size(), b.size()) >= kFewestStoredSamples;
  if (can_judge) comparison.verdict = judge(comparison, options.threshold);
  comparison.explanation = explain(comparison, options.threshold);
  return comparison;
}

std::optional<RatioEstimate> paired_ratio(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || static_cast<double>(a.size()) < stats::kFewestForInterval) return {};
  std::vector<double> logs;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] > 0) || !(b[i] > 0)) return {};
    logs.push_back(std::log(b[i] / a[i]));
  }
  const stats::Shift shift = stats::paired_shift(logs);
  return RatioEstimate{std::exp(shift.estimate),
                       {std::exp(shift.ci95.low), std::exp(shift.ci95.high)}};
}

bool needs_another_pair(const Comparison& so_far, const PairTimes& times,
                        const ComparisonOptions& options) {
  return needs_another_pair(so_far.pairs, so_far.verdict != ComparisonVerdict::Undecided, times,
                            options);
}

bool needs_another_pair(std::size_t pairs, bool is_decided, const PairTimes& times,
                        const ComparisonOptions& options) {
  if (pairs == 0) return true;
  const bool fits = pairs < options.max_pairs &&
                    times.elapsed_seconds + times.last_pair_seconds <= options.max_seconds;
  return fits && (pairs < options.min_pairs || !is_decided);
}

}  // namespace assay
