#include "optimize/quantize/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fail.h"
#include "transform/quantize/linear_scale.h"

namespace assay::optimize {

namespace {

constexpr int kLevels = 256;
constexpr double kLeastPercentKept = 99.9;  // of numbers, by entropy

ValueRange percentile_range(const ObservedValue& observed, double percentile) {
  const double outside = (1 - percentile / 100) / 2;
  // A side that ends at 0, as after a Relu, has nothing to cut off.
  ValueRange range = observed.range;
  if (range.least < 0) range.least = std::max(range.least, observed.histogram.quantile(outside));
  if (range.greatest > 0)
    range.greatest = std::min(range.greatest, observed.histogram.quantile(1 - outside));
  return range;
}

// Mean squared difference between numbers and what 8 bits make of them.
double squared_error(const Histogram& histogram, const ValueRange& range) {
  const transform::LinearScale how = transform::scale_for_range(range.least, range.greatest);
  const double scale = how.scale;
  const double rounding = scale * scale / 12;  // of numbers spread evenly over a step
  double sum = 0;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const auto count = static_cast<double>(histogram.counts()[i]);
    if (count == 0) continue;
    const double number = histogram.middle(i);
    const double steps = std::nearbyint(number / scale) + how.zero_point;
    const double kept = (std::clamp(steps, 0.0, 255.0) - how.zero_point) * scale;
    const bool is_within = steps >= 0 && steps <= 255;
    const bool is_finer = histogram.bin_width() > scale;
    sum += count * (is_within && is_finer ? rounding : (number - kept) * (number - kept));
  }
  return sum;
}

// Of a normalised count and a model of it, with Kullback and Leibler's measure.
double divergence_of(std::span<const double> real, std::span<const double> modelled, double total) {
  double model_total = 0;
  for (const double count : modelled) model_total += count;
  if (model_total == 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    if (real[i] == 0) continue;
    const double p = real[i] / total;
    const double q = std::max(modelled[i] / model_total, 1e-12);
    sum += p * std::log(p / q);
  }
  return sum;
}

// Counts without the peak at 0, which every range represents exactly: after a Relu it would hide
// everything else.
std::vector<std::uint64_t> counts_besides_zero(const Histogram& histogram) {
  std::vector<std::uint64_t> counts(histogram.counts().begin(), histogram.counts().end());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (histogram.lower_edge(i) > 0 || histogram.lower_edge(i + 1) <= 0) continue;
    const std::uint64_t before = i > 0 ? counts[i - 1] : 0;
    const std::uint64_t after = i + 1 < counts.size() ? counts[i + 1] : 0;
    counts[i] = std::min(counts[i], std::max(before, after));
  }
  return counts;
}

// Numbers outside the range count at its ends; a level's count spreads evenly over those of its
// bins that hold numbers.
double divergence(const Histogram& histogram, const std::vector<std::uint64_t>& counts,
                  const ValueRange& range) {
  const auto bin_of = [&](double number) {
    const double bin = (number - histogram.lower_edge(0)) / histogram.bin_width();
    return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(counts.size() - 1)));
  };
  const std::size_t first = bin_of(range.least);
  const std::size_t last = bin_of(range.greatest);
  std::vector<double> real(counts.begin() + static_cast<std::ptrdiff_t>(first),
                           counts.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  const std::vector<double> inside = real;
  for (std::size_t i = 0; i < first; ++i) real.front() += static_cast<double>(counts[i]);
  for (std::size_t i = last + 1; i < counts.size(); ++i)
    real.back() += static_cast<double>(counts[i]);
  std::array<double, kLevels> sums = {};
  std::array<double, kLevels> filled = {};
  const auto level_of = [&](std::size_t i) { return i * kLevels / inside.size(); };
  for (std::size_t i = 0; i < inside.size(); ++i) {
    sums[level_of(i)] += inside[i];
    filled[level_of(i)] += real[i] > 0 ? 1 : 0;
  }
  std::vector<double> modelled(inside.size(), 0);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (real[i] > 0) modelled[i] = sums[level_of(i)] / filled[level_of(i)];
  }
  double total = 0;
  for (const double count : real) total += count;
  return divergence_of(real, modelled, total);
}

// Tries narrower ranges down to `least_percent`, both ends together and then each end alone; keeps
// the best.
template <typename Cost>
ValueRange narrowed_range(const ValueRange& full, int least_percent, const Cost& cost) {
  constexpr int kTries = 100;
  ValueRange best = full;
  double least_cost = cost(full);
  const auto try_range = [&](const ValueRange& range) {
    const double found = cost(range);
    if (found >= least_cost) return;
    least_cost = found;
    best = range;
  };
  for (int i = kTries - 1; i >= least_percent; --i)
    try_range({full.least * i / kTries, full.greatest * i / kTries});
  const ValueRange both = best;
  for (int i = kTries; i >= least_percent; --i) try_range({full.least * i / kTries, both.greatest});
  const ValueRange lower = best;
  for (int i = kTries; i >= least_percent; --i)
    try_range({lower.least, full.greatest * i / kTries});
  return best;
}

// A divergence counts numbers, not how far off they are: where some channels are much larger than
// others, it would cut off the large ones. So the range holds nearly all numbers in any case.
ValueRange entropy_range(const ValueRange& full, const Histogram& histogram) {
  const auto counts = counts_besides_zero(histogram);
  if (std::ranges::all_of(counts, [](std::uint64_t count) { return count == 0; })) return full;
  const ValueRange least = percentile_range({full, histogram}, kLeastPercentKept);
  const auto at_least = [&](const ValueRange& range) {
    return ValueRange{std::min(range.least, least.least), std::max(range.greatest, least.greatest)};
  };
  return at_least(narrowed_range(full, 20, [&](const ValueRange& range) {
    return divergence(histogram, counts, at_least(range));
  }));
}

}  // namespace

ValueRange chosen_range(const ObservedValue& observed, CalibrationMethod method,
                        double percentile) {
  const ValueRange full{std::min(observed.range.least, 0.0),
                        std::max(observed.range.greatest, 0.0)};
  if (observed.histogram.is_empty() || full.greatest == full.least) return full;
  switch (method) {
    case CalibrationMethod::Percentile:
      return percentile_range({full, observed.histogram}, percentile);
    case CalibrationMethod::Mse:
      return narrowed_range(full, 5, [&](const ValueRange& range) {
        return squared_error(observed.histogram, range);
      });
    case CalibrationMethod::Entropy:
      return entropy_range(full, observed.histogram);
    case CalibrationMethod::MinMax:
      break;
  }
  return full;
}

}  // namespace assay::optimize
