#include "stats/bimodality.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "stats/autocorrelation.h"
#include "stats/order_statistics.h"

namespace assay::stats {

namespace {

constexpr std::size_t kFewestForModes = 40;
constexpr double kSmallestShare = 0.1;
constexpr std::size_t kTrimmedPart = 50;  // one in 50 at either end is ignored for the split
constexpr double kSmallestGap = 0.01;     // between the modes, relative to the lower
// dip * sqrt(n) stays below this for 95 % of uniform samples, the worst case with a single peak.
constexpr double kCriticalDip = 0.55;
constexpr double kClearSeparation = 4.5;
constexpr double kLargestSeparation = 1e6;

using Knots = std::vector<std::size_t>;

// Cross product of the vectors from knot a to b and from b to c, over points (value, position).
double turn(std::span<const double> values, std::size_t a, std::size_t b, std::size_t c) {
  return (values[b] - values[a]) * static_cast<double>(c - a) -
         (values[c] - values[a]) * static_cast<double>(b - a);
}

// The corners of the greatest convex minorant (side = 1) or the least concave majorant (side = -1)
// of the points first … last: a string pulled tight below or above the distribution function.
Knots hull(std::span<const double> values, std::size_t first, std::size_t last, int side) {
  Knots knots;
  for (std::size_t i = first; i <= last; ++i) {
    while (knots.size() >= 2 &&
           side * turn(values, knots[knots.size() - 2], knots.back(), i) <= 0) {
      knots.pop_back();
    }
    knots.push_back(i);
  }
  return knots;
}

// The height of the line from knot a to knot b at `value`.
double height_between(std::span<const double> values, std::size_t a, std::size_t b, double value) {
  const double width = values[b] - values[a];
  if (!(width > 0)) return static_cast<double>(b);
  return static_cast<double>(a) + static_cast<double>(b - a) * (value - values[a]) / width;
}

double height_of_hull(std::span<const double> values, const Knots& knots, double value) {
  const auto right = std::partition_point(knots.begin(), knots.end() - 1,
                                          [&](std::size_t knot) { return values[knot] < value; });
  const auto left = right == knots.begin() ? right : right - 1;
  return height_between(values, *left, *right, value);
}

struct Gap {
  double width = 0;
  std::size_t low = 0;  // corner of the minorant and of the majorant where it is widest
  std::size_t high = 0;
};

std::size_t corner_before(const Knots& knots, std::size_t position) {
  return *(std::upper_bound(knots.begin(), knots.end(), position) - 1);
}

std::size_t corner_after(const Knots& knots, std::size_t position) {
  return *std::lower_bound(knots.begin(), knots.end(), position);
}

// A step function jumps at each sample, so the upper string stands one sample higher.
Gap widest_gap(std::span<const double> values, const Knots& minorant, const Knots& majorant) {
  Gap gap;
  for (const std::size_t knot : minorant) {
    const double width =
        height_of_hull(values, majorant, values[knot]) - static_cast<double>(knot) + 1;
    if (width > gap.width) gap = {width, knot, corner_after(majorant, knot)};
  }
  for (const std::size_t knot : majorant) {
    const double width =
        static_cast<double>(knot) - height_of_hull(values, minorant, values[knot]) + 1;
    if (width > gap.width) gap = {width, corner_before(minorant, knot), knot};
  }
  return gap;
}

// How far the samples lie from the hull between its corners first … last.
double distance_from_hull(std::span<const double> values, const Knots& knots, std::size_t first,
                          std::size_t last, int side) {
  double farthest = 1;
  for (std::size_t k = 0; k + 1 < knots.size(); ++k) {
    if (knots[k] < first || knots[k + 1] > last) continue;
    for (std::size_t i = knots[k]; i <= knots[k + 1]; ++i) {
      const double line = height_between(values, knots[k], knots[k + 1], values[i]);
      farthest = std::max(farthest, side * (static_cast<double>(i) - line) + 1);
    }
  }
  return farthest;
}

// Otsu's threshold: the split of the sorted values that leaves the least variance within the parts.
std::size_t best_split(std::span<const double> ascending) {
  double total = 0;
  for (const double value : ascending) total += value;
  const auto count = static_cast<double>(ascending.size());
  double below = 0;
  double best = -1;
  std::size_t split = 1;
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    below += ascending[i - 1];
    const auto left = static_cast<double>(i);
    const double difference = below / left - (total - below) / (count - left);
    const double between = left * (count - left) * difference * difference;
    if (between <= best) continue;
    best = between;
    split = i;
  }
  return split;
}

// Ashman's D: the distance of the groups' medians in units of their spread. Halves of a normal
// distribution have 2.3, of a uniform one 2.7.
double separation(std::span<const double> ascending, std::size_t split) {
  const auto lower = ascending.first(split);
  const auto upper = ascending.subspan(split);
  const double spread =
      std::hypot(scaled_deviation(lower, median(lower)), scaled_deviation(upper, median(upper))) /
      std::numbers::sqrt2;
  const double distance = median(upper) - median(lower);
  return distance > kLargestSeparation * spread ? kLargestSeparation : distance / spread;
}

bool has_significant_dip(std::span<const double> samples, std::span<const double> ascending) {
  const double effective =
      static_cast<double>(samples.size()) / correlation_time_of_median(samples);
  return dip(ascending) * std::sqrt(effective) >= kCriticalDip;
}

}  // namespace

double dip(std::span<const double> ascending) {
  const std::size_t count = ascending.size();
  if (count == 0) return 0;
  double farthest = 1;
  std::size_t low = 0;
  std::size_t high = count - 1;
  // The peak lies between low and high; each round moves them closer, until the strings below and
  // above the distribution are nearer to each other there than what was found outside.
  while (low < high) {
    const Knots minorant = hull(ascending, low, high, 1);
    const Knots majorant = hull(ascending, low, high, -1);
    const Gap gap = widest_gap(ascending, minorant, majorant);
    if (gap.width <= farthest) break;
    farthest = std::max({farthest, distance_from_hull(ascending, minorant, low, gap.low, 1),
                         distance_from_hull(ascending, majorant, gap.high, high, -1)});
    if (gap.low == low && gap.high == high) break;
    low = gap.low;
    high = gap.high;
  }
  return farthest / (2 * static_cast<double>(count));
}

Modes find_modes(std::span<const double> samples) {
  if (samples.size() < kFewestForModes) return {};
  const auto ascending = sorted(samples);
  const std::size_t trimmed = ascending.size() / kTrimmedPart;
  const auto core =
      std::span<const double>(ascending).subspan(trimmed, ascending.size() - 2 * trimmed);
  const std::size_t split = best_split(core);
  Modes modes;
  modes.lower = median(core.first(split));
  modes.upper = median(core.subspan(split));
  modes.upper_share = static_cast<double>(core.size() - split) / static_cast<double>(core.size());
  const bool both_populated = std::min(modes.upper_share, 1 - modes.upper_share) >= kSmallestShare;
  const bool far_enough = modes.upper - modes.lower >= kSmallestGap * modes.lower;
  modes.bimodal =
      both_populated && far_enough &&
      (separation(core, split) >= kClearSeparation || has_significant_dip(samples, ascending));
  return modes;
}

}  // namespace assay::stats
