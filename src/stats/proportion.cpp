#include "stats/proportion.h"

#include <algorithm>
#include <cmath>

namespace assay::stats {

namespace {

constexpr double kZ = 1.959963984540054;  // 97.5 % of a normal distribution lie below

}  // namespace

Interval wilson_interval(std::int64_t successes, std::int64_t total) {
  if (total <= 0) return {0, 1};
  const auto n = static_cast<double>(total);
  const double share = static_cast<double>(successes) / n;
  const double spread = kZ * kZ / n;
  const double centre = (share + spread / 2) / (1 + spread);
  const double half = kZ / (1 + spread) * std::sqrt(share * (1 - share) / n + spread / (4 * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

Interval paired_difference_interval(std::int64_t gained, std::int64_t lost, std::int64_t total) {
  if (total <= 0) return {-1, 1};
  const double n = static_cast<double>(total) + 2;
  const double up = static_cast<double>(gained) + 0.5;
  const double down = static_cast<double>(lost) + 0.5;
  const double centre = (up - down) / n;
  const double half = kZ / n * std::sqrt(up + down - (up - down) * centre);
  return {std::max(-1.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace assay::stats
