#include "stats/bursts.h"

#include <algorithm>

#include "stats/order_statistics.h"

namespace assay::stats {

namespace {

constexpr std::size_t kShortestBurst = 5;
constexpr double kSlower = 0.10;  // than the median, at least
constexpr double kDeviations = 4;

// Measured below the median, where bursts do not reach.
double one_deviation(std::span<const double> ascending, double median) {
  constexpr double kOneBelow = 0.16;  // of normal noise lies further below
  return median - quantile_of_sorted(ascending, kOneBelow);
}

double slow_from(std::span<const double> samples) {
  const auto ascending = sorted(samples);
  const double median = quantile_of_sorted(ascending, 0.5);
  return median + std::max(kSlower * median, kDeviations * one_deviation(ascending, median));
}

}  // namespace

Bursts find_bursts(std::span<const double> samples) {
  const double limit = slow_from(samples);
  Bursts found;
  std::size_t slow_samples = 0;
  for (std::size_t i = 0; i < samples.size();) {
    std::size_t end = i;
    while (end < samples.size() && samples[end] > limit) ++end;
    if (end - i >= kShortestBurst) {
      ++found.count;
      slow_samples += end - i;
    }
    i = end + 1;
  }
  if (found.count > 0) {
    found.share = static_cast<double>(slow_samples) / static_cast<double>(samples.size());
  }
  return found;
}

}  // namespace assay::stats
