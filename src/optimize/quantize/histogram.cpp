#include "optimize/quantize/histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay::optimize {

void Histogram::begin(float least, float greatest) {
  counts_.assign(kBins, 0);
  const double spread = static_cast<double>(greatest) - least;
  // Numbers that are all the same get bins of a width that tells them apart from 0.
  const double magnitude = std::max(std::abs(static_cast<double>(greatest)), 1e-30);
  width_ = std::max(spread, magnitude * 1e-3) * (1 + 1e-6) / kBins;
  first_edge_ = least;
}

// Every second bin keeps the sum of two. Downwards the new bins come before the old ones.
void Histogram::double_width(bool downwards) {
  std::vector<std::uint64_t> merged(kBins, 0);
  const std::size_t shift = downwards ? kBins / 2 : 0;
  for (std::size_t i = 0; i < kBins; ++i) merged[shift + i / 2] += counts_[i];
  if (downwards) first_edge_ -= width_ * kBins;
  counts_ = std::move(merged);
  width_ *= 2;
}

void Histogram::widen_to(float least, float greatest) {
  if (counts_.empty()) begin(least, greatest);
  while (least < first_edge_) double_width(true);
  while (greatest >= lower_edge(kBins)) double_width(false);
}

void Histogram::count(std::span<const float> numbers, Counts& counts) const {
  counts.resize(kBins, 0);
  const auto edge = static_cast<float>(first_edge_);
  const auto per_unit = static_cast<float>(1 / width_);
  for (const float number : numbers) {
    const auto bin = static_cast<std::int32_t>((number - edge) * per_unit);
    ++counts[static_cast<std::size_t>(std::clamp(bin, 0, static_cast<std::int32_t>(kBins) - 1))];
  }
}

void Histogram::add(const Counts& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts_[i] += counts[i];
}

void Histogram::add(std::span<const float> numbers, float least, float greatest) {
  if (numbers.empty()) return;
  widen_to(least, greatest);
  Counts counts;
  count(numbers, counts);
  add(counts);
}

std::uint64_t Histogram::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

double Histogram::quantile(double fraction) const {
  const double wanted = fraction * static_cast<double>(total());
  double below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const auto count = static_cast<double>(counts_[i]);
    if (below + count >= wanted && count > 0)
      return lower_edge(i) + width_ * std::clamp((wanted - below) / count, 0.0, 1.0);
    below += count;
  }
  return lower_edge(counts_.size());
}

}  // namespace assay::optimize
