// Integer arithmetic that detects overflow. Every size that comes from a file goes through it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace assay {

std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b);

// The product of all dims: 1 for none, nothing if one is negative or the product overflows.
std::optional<std::int64_t> checked_product(std::span<const std::int64_t> dims);

// Sums and products of costs saturate at the largest value instead of wrapping.
std::int64_t saturating_add(std::int64_t a, std::int64_t b);
std::int64_t saturating_multiply(std::int64_t a, std::int64_t b);

}  // namespace assay
