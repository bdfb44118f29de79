#include "stats/median_interval.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "stats/autocorrelation.h"
#include "stats/order_statistics.h"

namespace assay::stats {

namespace {

// 1.96 for a number of samples fixed beforehand. Stopping at a narrow interval favours samples that
// happen to lie close together, which costs up to 2 points of coverage; this and the terms of
// `widening` give them back.
constexpr double kScore = 2.02;
constexpr double kWideScore = 3.0;

// With few samples, and above all few independent ones, the correlation is uncertain.
double widening(double effective, bool correlated) {
  return (1 + 1 / effective) * (correlated ? 1 + 5 / effective : 1);
}

// Of the mean rank, as a fraction of all ranks: the binomial's, with fractional order statistics.
double half_width_in_ranks(double score, double effective, bool correlated) {
  const double widened = score * widening(effective, correlated);
  return std::min(0.5, widened * std::sqrt(effective) / (2 * (effective + 1)));
}

Interval between_ranks(std::span<const double> ascending, double half_width) {
  const double ranks = static_cast<double>(ascending.size()) + 1;
  return {value_at_rank(ascending, (0.5 - half_width) * ranks),
          value_at_rank(ascending, (0.5 + half_width) * ranks)};
}

// The smallest and the largest median of a part of the series. If the parts are independent, hardly
// any interval that covers the median reaches beyond; if they are not, no interval can be trusted,
// and the extremes of all samples are no better than these.
std::optional<Interval> range_of_parts(std::span<const double> samples) {
  constexpr std::size_t kParts = 12;
  constexpr std::size_t kFewestInAPart = 8;
  if (samples.size() < kParts * kFewestInAPart) return std::nullopt;
  std::vector<double> medians;
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::size_t first = part * samples.size() / kParts;
    const std::size_t end = (part + 1) * samples.size() / kParts;
    medians.push_back(median(samples.subspan(first, end - first)));
  }
  const auto [low, high] = std::ranges::minmax(medians);
  return Interval{low, high};
}

// Both hold the median, and so does what they have in common.
Interval within(const Interval& interval, const std::optional<Interval>& limits) {
  if (!limits) return interval;
  return {std::max(interval.low, limits->low), std::min(interval.high, limits->high)};
}

double farther_end(const Interval& interval, double centre) {
  return std::max(interval.high - centre, centre - interval.low);
}

}  // namespace

MedianEstimate estimate_median(std::span<const double> samples) {
  if (samples.empty()) return {};
  const auto ascending = sorted(samples);
  const double time = correlation_time_of_median(samples);
  MedianEstimate estimate;
  estimate.median = quantile_of_sorted(ascending, 0.5);
  estimate.effective_samples = static_cast<double>(samples.size()) / time;
  const auto limits = range_of_parts(samples);
  const auto interval_at = [&](double score) {
    return within(
        between_ranks(ascending, half_width_in_ranks(score, estimate.effective_samples, time > 1)),
        limits);
  };
  estimate.ci95 = interval_at(kScore);
  const double reach = farther_end(estimate.ci95, estimate.median);
  const double wide = farther_end(interval_at(kWideScore), estimate.median) * kScore / kWideScore;
  // A clock too coarse for the work yields a median of 0: certain only if nothing else was seen.
  if (reach > 0) estimate.relative_error = reach / std::abs(estimate.median);
  const double cautious = std::max(reach, wide);
  if (cautious > 0) estimate.cautious_error = cautious / std::abs(estimate.median);
  return estimate;
}

Interval ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator) {
  const auto above = estimate_median(numerator);
  const auto below = estimate_median(denominator);
  const double centre = std::log(above.median / below.median);
  const double down =
      std::hypot(std::log(above.median / above.ci95.low), std::log(below.ci95.high / below.median));
  const double up =
      std::hypot(std::log(above.ci95.high / above.median), std::log(below.median / below.ci95.low));
  return {std::exp(centre - down), std::exp(centre + up)};
}

}  // namespace assay::stats
