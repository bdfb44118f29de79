#include "execute/cpu/kernels/dynamic_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/as_size.h"
#include "base/number_cast.h"
#include "execute/threads.h"

namespace assay::cpu {

ValueRange range_of(const float* values, std::int64_t count, int threads) {
  constexpr int kMostParts = 64;
  const int parts = std::clamp(threads, 1, kMostParts);
  std::array<ValueRange, kMostParts> found;
  execute::for_each_in_parallel(parts, as_size(parts), [&](std::size_t part) {
    const auto i = static_cast<std::int64_t>(part);
    const std::int64_t first = count * i / parts;
    const std::int64_t last = count * (i + 1) / parts;
    found[part] = simd().value_range(values + first, as_size(last - first));
  });
  ValueRange all;
  for (const ValueRange& one : std::span(found).first(as_size(parts))) {
    all.low = std::min(all.low, one.low);
    all.high = std::max(all.high, one.high);
  }
  return all;
}

Scale8 scale_for(const ValueRange& range) {
  const auto [low, high] = range;
  Scale8 scale{.scale = high == low ? 1.0f : (high - low) / 255};
  const float zero = std::nearbyint(-low / scale.scale);
  scale.zero_point = number_cast<std::int32_t>(std::clamp(zero, 0.0f, 255.0f));  // NaN: 0
  return scale;
}

}  // namespace assay::cpu
