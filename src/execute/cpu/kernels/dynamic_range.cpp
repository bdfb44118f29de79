#include "execute/cpu/kernels/dynamic_range.h"

#include <algorithm>
#include <cmath>

namespace assay::cpu {

ValueRange range_of(const float* values, std::int64_t count, int threads) {
  if (threads <= 1) return simd().value_range(values, static_cast<std::size_t>(count));
  float low = 0, high = 0;
#pragma omp parallel for num_threads(threads) reduction(min : low) reduction(max : high)
  for (int part = 0; part < threads; ++part) {
    const std::int64_t first = count * part / threads;
    const std::int64_t last = count * (part + 1) / threads;
    const ValueRange found =
        simd().value_range(values + first, static_cast<std::size_t>(last - first));
    low = std::min(low, found.low);
    high = std::max(high, found.high);
  }
  return {low, high};
}

Scale8 scale_for(const ValueRange& range) {
  const auto [low, high] = range;
  Scale8 scale{.scale = high == low ? 1.0f : (high - low) / 255};
  const float zero = std::nearbyint(-low / scale.scale);
  scale.zero_point = static_cast<std::int32_t>(std::clamp(zero, 0.0f, 255.0f));
  return scale;
}

}  // namespace assay::cpu
