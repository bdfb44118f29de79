#include "execute/cpu/lower/weight_sums.h"

#include <algorithm>

namespace assay::cpu {

using kernels::IndexRange;
using kernels::WindowAxis;

namespace {

WindowKinds window_kinds(const WindowAxis& axis) {
  WindowKinds kinds;
  for (std::int64_t window = 0; window < axis.output; ++window) {
    const IndexRange inside = axis.taps_inside(window);
    const auto same = [&](const IndexRange& range) {
      return range.first == inside.first && range.last == inside.last;
    };
    const auto found = std::ranges::find_if(kinds.ranges, same);
    kinds.of_window.push_back(static_cast<std::size_t>(found - kinds.ranges.begin()));
    if (found == kinds.ranges.end()) kinds.ranges.push_back(inside);
  }
  return kinds;
}

// Input channels do not matter.
std::vector<std::int32_t> sums_by_tap(const std::vector<std::int16_t>& weights,
                                      std::size_t channels, std::size_t taps) {
  std::vector<std::int32_t> sums(channels * taps, 0);
  const std::size_t filter = weights.size() / channels;
  for (std::size_t i = 0; i < weights.size(); ++i) sums[i / filter * taps + i % taps] += weights[i];
  return sums;
}

}  // namespace

WeightSums::WeightSums(const ConvolutionLayer& layer, const std::vector<std::int16_t>& weights)
    : channels_(layer.weights[0]) {
  for (std::size_t i = 0; i < 3; ++i) kinds_[i] = window_kinds(layer.grid.axes[i]);
  const auto& [depth, height, width] = kinds_;
  const auto channels = static_cast<std::size_t>(channels_);
  sums_.resize(depth.ranges.size() * height.ranges.size() * width.ranges.size() * channels);
  const auto by_tap = sums_by_tap(weights, channels, static_cast<std::size_t>(layer.grid.taps()));
  for (std::size_t z = 0; z < depth.ranges.size(); ++z) {
    for (std::size_t y = 0; y < height.ranges.size(); ++y) {
      for (std::size_t x = 0; x < width.ranges.size(); ++x) add_kind(layer, by_tap, {z, y, x});
    }
  }
}

const std::int32_t* WeightSums::at(std::size_t z, std::size_t y, std::size_t x) const {
  return sums_.data() +
         start_of(kinds_[0].of_window[z], kinds_[1].of_window[y], kinds_[2].of_window[x]);
}

std::size_t WeightSums::start_of(std::size_t z, std::size_t y, std::size_t x) const {
  return ((z * kinds_[1].ranges.size() + y) * kinds_[2].ranges.size() + x) *
         static_cast<std::size_t>(channels_);
}

void WeightSums::add_kind(const ConvolutionLayer& layer, const std::vector<std::int32_t>& by_tap,
                          const std::array<std::size_t, 3>& kind) {
  const auto& axes = layer.grid.axes;
  const auto taps = static_cast<std::size_t>(layer.grid.taps());
  std::int32_t* sums = sums_.data() + start_of(kind[0], kind[1], kind[2]);
  kernels::for_each_kernel_tap(layer.grid, [&](const kernels::WindowTap& tap) {
    for (std::size_t i = 0; i < 3; ++i) {
      const IndexRange& inside = kinds_[i].ranges[kind[i]];
      if (tap[i] < inside.first || tap[i] >= inside.last) return;
    }
    const auto position =
        static_cast<std::size_t>((tap[0] * axes[1].kernel + tap[1]) * axes[2].kernel + tap[2]);
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(channels_); ++channel)
      sums[channel] += by_tap[channel * taps + position];
  });
}

}  // namespace assay::cpu
