// The median with a 95 % interval that is valid for skewed, bimodal, spiky and correlated samples,
// even when sampling was stopped because that interval was narrow.
//
// No resampling is needed for a median: its bootstrap distribution is binomial over the order
// statistics, so the interval runs from one rank of the sorted samples to another. Correlated
// samples count as fewer (autocorrelation.h). However few they count as, the interval does not
// reach beyond the medians of twelve parts of the series: a few slow samples do not stretch it. The
// coverage is checked by simulation in tests/timing/coverage_test.cpp; the constants in the .cpp
// file were chosen there. Two cases stay below 95 %: dependence cannot be seen among fewer than
// about 50 samples, and modes or bursts that each last for many samples need a series that holds
// about twenty of them.
#pragma once

#include <span>

namespace assay::stats {

struct Interval {
  double low = 0;
  double high = 0;
};

struct MedianEstimate {
  double median = 0;
  Interval ci95;
  double relative_error = 0;  // from the median to the interval's farther end, over the median
  // The same, or the estimate from a wider range of ranks, scaled down, if that is larger: this
  // makes stopping at an interval that is narrow by chance less likely.
  double cautious_error = 0;
  double effective_samples = 0;  // the equivalent number of independent samples
};
MedianEstimate estimate_median(std::span<const double> samples);

// With fewer independent samples, even the smallest and the largest enclose the median less often
// than 95 % of the time.
inline constexpr double kFewestForInterval = 6;

// The 95 % interval of median(numerator) / median(denominator), for independent positive samples:
// on the log scale the distances of each interval's ends from its median add as squares (Donner and
// Zou's method), which keeps the skew that a normal approximation would lose and needs no draws.
Interval ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator);

}  // namespace assay::stats
