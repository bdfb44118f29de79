#include "stats/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace assay::stats {

namespace {

constexpr double kDeviationOfNormal = 1.4826;       // 1 / the 75 % quantile of a standard normal
constexpr double kMeanDistanceOfNormal = 1.253314;  // sqrt(pi / 2)
constexpr double kOutlierScore = 3.5;

std::vector<double> distances_from(std::span<const double> samples, double centre) {
  std::vector<double> distances(samples.size());
  std::transform(samples.begin(), samples.end(), distances.begin(),
                 [centre](double sample) { return std::abs(sample - centre); });
  return distances;
}

double spread_for_outliers(std::span<const double> samples, double centre) {
  const double deviation = scaled_deviation(samples, centre);
  if (deviation > 0) return deviation;
  return kMeanDistanceOfNormal * moments(distances_from(samples, centre)).mean;
}

}  // namespace

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> ascending(samples.begin(), samples.end());
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

double value_at_rank(std::span<const double> ascending, double rank) {
  if (ascending.empty()) return 0;
  if (rank <= 1) return ascending.front();
  if (rank >= static_cast<double>(ascending.size())) return ascending.back();
  const auto below = static_cast<std::size_t>(rank);
  const double part = rank - static_cast<double>(below);
  return ascending[below - 1] + part * (ascending[below] - ascending[below - 1]);
}

double quantile_of_sorted(std::span<const double> ascending, double fraction) {
  const auto gaps = ascending.empty() ? 0.0 : static_cast<double>(ascending.size() - 1);
  return value_at_rank(ascending, 1 + fraction * gaps);
}

std::optional<double> tail_of_sorted(std::span<const double> ascending, double fraction) {
  // With fewer samples expected beyond a quantile, it is not estimated.
  constexpr double kFewestBeyond = 5;
  // 50 samples have 5.000000000000002 expected beyond 90 %, or slightly less.
  const double beyond = static_cast<double>(ascending.size()) * (1 - fraction);
  if (beyond < kFewestBeyond - 1e-6) return std::nullopt;
  return quantile_of_sorted(ascending, fraction);
}

double median(std::span<const double> samples) {
  if (samples.empty()) return 0;
  std::vector<double> values(samples.begin(), samples.end());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double scaled_deviation(std::span<const double> samples, double centre) {
  return kDeviationOfNormal * median(distances_from(samples, centre));
}

Moments moments(std::span<const double> samples) {
  if (samples.empty()) return {};
  const auto count = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  if (samples.size() == 1) return {mean, 0};
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return {mean, std::sqrt(squares / (count - 1))};
}

std::vector<std::size_t> outliers(std::span<const double> samples) {
  const double centre = median(samples);
  const double spread = spread_for_outliers(samples, centre);
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::abs(samples[i] - centre) > kOutlierScore * spread) positions.push_back(i);
  }
  return positions;
}

std::vector<double> centred_ranks(std::span<const double> samples) {
  std::vector<std::pair<double, std::size_t>> order(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) order[i] = {samples[i], i};
  std::sort(order.begin(), order.end());
  std::vector<double> ranks(samples.size());
  const double middle = (static_cast<double>(samples.size()) - 1) / 2;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && order[end].first == order[first].first) ++end;
    const double shared = static_cast<double>(first + end - 1) / 2 - middle;
    for (; first < end; ++first) ranks[order[first].second] = shared;
  }
  return ranks;
}

}  // namespace assay::stats
