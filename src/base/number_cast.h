// Conversion between number types that is defined for every value.
#pragma once

#include <limits>
#include <type_traits>

namespace assay {

// A real number becomes a whole one by dropping its fraction; beyond the range it becomes the
// nearest there is, and NaN becomes 0. Whole numbers wrap.
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
