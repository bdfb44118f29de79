#include "base/checked.h"

#include <algorithm>
#include <limits>

namespace assay {

namespace {
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
}  // namespace

std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::optional<std::int64_t> checked_product(std::span<const std::int64_t> dims) {
  const bool negative = std::any_of(dims.begin(), dims.end(), [](auto dim) { return dim < 0; });
  if (negative) return std::nullopt;
  // A zero anywhere makes the product zero even where the other dims alone would overflow.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  std::int64_t product = 1;
  for (const auto dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return product;
}

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  return checked_add(a, b).value_or(a > 0 ? kLargest : kSmallest);
}

std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  return checked_multiply(a, b).value_or((a > 0) == (b > 0) ? kLargest : kSmallest);
}

}  // namespace assay
