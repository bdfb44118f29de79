// Conversion between number types that is defined for every value.
#pragma once

#include <limits>
#include <type_traits>

namespace assay {

// Floating-point to integer truncates and saturates at the range's ends, and NaN becomes 0. Integer
// to integer wraps.
template <typename To, typename From>
constexpr To number_cast(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (value != value) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

}  // namespace assay
