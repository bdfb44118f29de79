// Medians, quantiles, spread and outliers of a handful or a hundred thousand samples.
//
// Nothing here changes its input or throws; an empty input has a median, mean and spread of 0.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay::stats {

std::vector<double> sorted(std::span<const double> samples);

// Linear between neighbours, position fraction * (n - 1): NumPy's and R's default.
double quantile_of_sorted(std::span<const double> ascending, double fraction);
// The value at a rank counted from 1, linear between neighbours, clamped at the ends.
double value_at_rank(std::span<const double> ascending, double rank);
double median(std::span<const double> samples);
// A quantile near the end; nothing unless five samples are expected beyond it: a 95 % one needs
// 100.
std::optional<double> tail_of_sorted(std::span<const double> ascending, double fraction);
// The median distance from `centre`, times 1.4826: the standard deviation where noise is normal.
double scaled_deviation(std::span<const double> samples, double centre);

struct Moments {
  double mean = 0;
  double standard_deviation = 0;  // n - 1 in the denominator; 0 for a single sample
};
Moments moments(std::span<const double> samples);

// Positions whose modified z-score |x - median| / (scaled deviation) exceeds 3.5 (Iglewicz and
// Hoaglin). Where more than half of the samples are equal, their mean distance takes its place.
std::vector<std::size_t> outliers(std::span<const double> samples);

// Ranks less their mean, equal samples sharing theirs: what remains of a series when only its order
// matters, so that no outlier can dominate.
std::vector<double> centred_ranks(std::span<const double> samples);

}  // namespace assay::stats
