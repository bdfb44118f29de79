#include "execute/cpu/kernels/dynamic_range.h"

#include <algorithm>
#include <cmath>

namespace assay::cpu {

ValueRange range_of(const float* values, std::int64_t count) {
  if (count == 0) return {};
  const auto width = static_cast<std::size_t>(count);
  return {std::min(0.0f, simd().reduce(ReduceOp::Min, values, width)),
          std::max(0.0f, simd().reduce(ReduceOp::Max, values, width))};
}

ValueRange range_of(const float* values, std::int64_t count, int threads) {
  if (threads <= 1) return range_of(values, count);
  float low = 0, high = 0;
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(min    \
                                                                            : low) \
    reduction(max                                                                  \
              : high)
  for (int part = 0; part < threads; ++part) {
    const std::int64_t first = count * part / threads;
    const std::int64_t last = count * (part + 1) / threads;
    const ValueRange found = range_of(values + first, last - first);
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
