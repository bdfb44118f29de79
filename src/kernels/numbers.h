// Arithmetic of one element that is defined for every value: integers wrap, and real numbers
// beyond an integer's range become the nearest one.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/number_cast.h"

namespace assay::kernels {

// Integers are added without sign, where wrapping is defined.
template <typename T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <typename T>
T wrapping_difference(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}

template <typename T>
T wrapping_product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

// The nearest T to a real number, rounded towards zero where T is whole; NaN becomes 0 there.
template <typename T>
T from_real(double number) {
  return number_cast<T>(number);
}

}  // namespace assay::kernels
