#include "stats/proportion.h"

#include <algorithm>
#include <cmath>

namespace assay::stats {

Interval wilson_interval(std::int64_t successes, std::int64_t total) {
  constexpr double kZ = 1.959963984540054;  // 97.5 % of a normal distribution lie below
  if (total <= 0) return {0, 1};
  const auto n = static_cast<double>(total);
  const double share = static_cast<double>(successes) / n;
  const double spread = kZ * kZ / n;
  const double centre = (share + spread / 2) / (1 + spread);
  const double half = kZ / (1 + spread) * std::sqrt(share * (1 - share) / n + spread / (4 * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace assay::stats
