// Exact sums of 8-bit products, and the scales and zero points that belong to their operands.
// Shared by the products that give integers, those that give 8 bits and those that give real
// numbers.
#pragma once

#include <optional>

#include "kernels/product.h"

namespace assay::kernels {

// Two's complement: sums wrap, as products of integers do.
using Sums = std::vector<std::uint64_t>;

inline double as_real(std::uint64_t sum) {
  return static_cast<double>(static_cast<std::int64_t>(sum));
}

// A scale or zero point spread over a tensor: one for all, one a row or column, or one an element.
struct SpreadNumbers {
  std::vector<double> numbers = {1};
  Dims strides = {};
};

// What the numbers of a vector of scales or zero points belong to.
enum class ScaleVector { Rows, Columns, Channels };

// Input `input` over a tensor of `dims`; fails where it does not fit.
SpreadNumbers spread_over(const KernelCall& call, std::size_t input, const Dims& dims,
                          ScaleVector kind);

// The elements of an 8-bit tensor less their zero point, where there is one.
Sums centred(const KernelCall& call, const Tensor& tensor, std::size_t zero_point,
             ScaleVector kind);

// Where the operands of a product stand among the inputs.
struct ProductInputs {
  std::size_t a = 0;
  std::size_t a_scale = 0;
  std::size_t a_zero_point = 0;
  std::size_t b = 0;
  std::size_t b_scale = 0;
  std::size_t b_zero_point = 0;
};

struct ScaledProduct {
  Dims dims = {};
  std::vector<double> values = {};
};

// A' · B' in real numbers, with input `addend` added to the sums of integers first, where
// the node has it. A has one scale or one a row, B one or one a column.
ScaledProduct scaled_product(const KernelCall& call, const ProductInputs& inputs,
                             TransposedOperands flips = {},
                             std::optional<std::size_t> addend = std::nullopt);

}  // namespace assay::kernels
