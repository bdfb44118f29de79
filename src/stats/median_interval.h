// The median with a 95 % interval that is honest for skewed, bimodal, spiky and correlated samples,
// also when sampling was stopped because that very interval looked narrow.
//
// No resampling is needed for a median: its bootstrap distribution is binomial over the order
// statistics, so the interval runs from one rank of the sorted samples to another. Correlated
// samples count as fewer (autocorrelation.h). The coverage is checked by simulation in
// tests/timing/coverage_test.cpp; the constants in the .cpp file were chosen there. Two cases stay
// below 95 %: dependence cannot be seen among fewer than about 50 samples, and modes that each last
// for many samples need far more of them than modes that mix.
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
  // Half the interval's width over the median, or what a wider stretch of ranks, scaled down, says
  // it should be if that is more: a rule that stops at a narrow interval is then fooled less.
  double relative_half_width = 0;
  double effective_samples = 0;  // how many independent samples would tell as much
};
MedianEstimate estimate_median(std::span<const double> samples);

// Below so many independent samples even the smallest and the largest enclose the median less often
// than 95 % of the time.
inline constexpr double kFewestForInterval = 6;

// The 95 % interval of median(numerator) / median(denominator), for independent positive samples:
// on the log scale the distances of each interval's ends from its median add as squares (Donner and
// Zou's method), which keeps the skew that a normal approximation would lose and needs no draws.
Interval ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator);

}  // namespace assay::stats
