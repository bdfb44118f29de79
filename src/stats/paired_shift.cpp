#include "stats/paired_shift.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "stats/order_statistics.h"

namespace assay::stats {

namespace {

constexpr double kTail = 0.025;
constexpr std::size_t kMostForExact = 50;

std::vector<double> sorted_pairwise_means(std::span<const double> values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  return sorted(means);
}

// How likely each sum of ranks is when every rank from 1 to `count` is in it with probability 1/2.
std::vector<double> rank_sum_distribution(std::size_t count) {
  std::vector<double> probability(count * (count + 1) / 2 + 1, 0.0);
  probability[0] = 1;
  std::size_t largest = 0;
  for (std::size_t rank = 1; rank <= count; ++rank) {
    largest += rank;
    for (std::size_t sum = largest + 1; sum-- > 0;) {
      const double without = probability[sum];
      probability[sum] = 0.5 * (without + (sum >= rank ? probability[sum - rank] : 0));
    }
  }
  return probability;
}

// The number of sorted pairwise means outside the interval at either end.
std::size_t left_out(std::size_t count) {
  const auto n = static_cast<double>(count);
  if (count > kMostForExact) {
    const double deviation = std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
    return static_cast<std::size_t>(n * (n + 1) / 4 - 1.96 * deviation);
  }
  double tail = 0;
  std::size_t sums = 0;
  for (const double probability : rank_sum_distribution(count)) {
    tail += probability;
    if (tail > kTail) break;
    ++sums;
  }
  return sums == 0 ? 0 : sums - 1;
}

}  // namespace

Shift paired_shift(std::span<const double> differences) {
  if (differences.empty()) return {};
  const auto means = sorted_pairwise_means(differences);
  const std::size_t outside = left_out(differences.size());
  return {quantile_of_sorted(means, 0.5), {means[outside], means[means.size() - 1 - outside]}};
}

}  // namespace assay::stats
