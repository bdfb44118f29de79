// Products in float16 arithmetic, emulated and by the processor where it has the instructions,
// against sums in double precision.
#include "execute/cpu/simd/fp16/fp16_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "execute/cpu/kernels/panel_convolution.h"
#include "execute/emulated.h"
#include "graph/half.h"

namespace assay::cpu {
namespace {

std::vector<const Fp16Kernels*> fp16_kernels() {
  std::vector<const Fp16Kernels*> all = {&fp16_emulated()};
  if (fp16() != nullptr) all.push_back(fp16());
  return all;
}

std::vector<std::uint16_t> random_numbers(std::size_t count, float scale, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<std::uint16_t> numbers(count);
  for (std::uint16_t& number : numbers) number = graph::float_to_half(normal(generator));
  return numbers;
}

double number_of(std::uint16_t bits) {
  return static_cast<double>(graph::half_to_float(bits));
}

struct Matrices {
  std::vector<std::uint16_t> rows, panel;
  std::size_t count = 0, depth = 0;

  double sum(std::size_t row, std::size_t column) const {
    double sum = 0;
    for (std::size_t k = 0; k < depth; ++k)
      sum += number_of(rows[row * depth + k]) * number_of(panel[k * kFp16Columns + column]);
    return sum;
  }
  // Of the products that are summed: what the error is relative to.
  double size(std::size_t row, std::size_t column) const {
    double squares = 0;
    for (std::size_t k = 0; k < depth; ++k)
      squares += std::pow(
          number_of(rows[row * depth + k]) * number_of(panel[k * kFp16Columns + column]), 2);
    return std::sqrt(squares);
  }
};

std::vector<float> product_of(const Fp16Kernels& kernels, const Matrices& what) {
  std::vector<std::uint16_t> rows(what.rows.size());
  std::vector<float> scales(what.count);
  for (std::size_t r = 0; r < what.count; ++r)
    scales[r] = kernels.scale_row(what.rows.data() + r * what.depth, rows.data() + r * what.depth,
                                  what.depth);
  std::vector<float> sums(what.count * kFp16Columns, std::nanf(""));
  kernels.product({.rows = rows.data(),
                   .count = what.count,
                   .stride = what.depth,
                   .scales = scales.data(),
                   .panel = what.panel.data(),
                   .depth = what.depth,
                   .sums = sums.data(),
                   .sums_stride = kFp16Columns});
  return sums;
}

void expect_sums(const Matrices& what) {
  for (const Fp16Kernels* kernels : fp16_kernels()) {
    const std::vector<float> sums = product_of(*kernels, what);
    for (std::size_t r = 0; r < what.count; ++r) {
      for (std::size_t j = 0; j < kFp16Columns; ++j) {
        ASSERT_NEAR(static_cast<double>(sums[r * kFp16Columns + j]), what.sum(r, j),
                    8e-3 * what.size(r, j))
            << kernels->isa << " row " << r << " column " << j;
      }
    }
  }
}

TEST(Fp16Product, ComesNearTheSumsForEveryNumberOfRows) {
  for (const std::size_t count : {1u, 2u, 23u, 24u, 25u, 50u}) {
    for (const std::size_t depth : {1u, 31u, 33u, 300u}) {
      expect_sums({.rows = random_numbers(count * depth, 1, 1),
                   .panel = random_numbers(depth * kFp16Columns, 0.1f, 2),
                   .count = count,
                   .depth = depth});
    }
  }
}

// 64 products of 10,000 · 10: in float16 alone their sum would be infinite.
TEST(Fp16Product, OfLargeNumbersDoesNotOverflow) {
  constexpr std::size_t kDepth = 64;
  Matrices what{
      .rows = std::vector<std::uint16_t>(kDepth, graph::float_to_half(10000)),
      .panel = std::vector<std::uint16_t>(kDepth * kFp16Columns, graph::float_to_half(10)),
      .count = 1,
      .depth = kDepth};
  for (const Fp16Kernels* kernels : fp16_kernels())
    EXPECT_NEAR(static_cast<double>(product_of(*kernels, what)[0]), 64 * 10000.0 * 10, 3e4);
}

TEST(Fp16Product, OfNumbersOfAnySizeIsScaledByPowersOfTwo) {
  for (const Fp16Kernels* kernels : fp16_kernels()) {
    const auto scale_of = [&](float largest) {
      std::vector<std::uint16_t> row(40, graph::float_to_half(largest / 8));
      row[37] = graph::float_to_half(-largest);
      const std::vector<std::uint16_t> given = row;
      const float scale = kernels->scale_row(row.data(), row.data(), row.size());
      for (std::size_t i = 0; i < row.size(); ++i)
        EXPECT_EQ(number_of(row[i]) * static_cast<double>(scale), number_of(given[i]));
      return scale;
    };
    EXPECT_EQ(scale_of(0), 1);
    EXPECT_EQ(scale_of(0.001f), 1.0f / 512);
    EXPECT_EQ(scale_of(0.75f), 1);
    EXPECT_EQ(scale_of(1.5f), 2);
    EXPECT_EQ(scale_of(1000), 1024);
    EXPECT_EQ(scale_of(60000), 16384);
  }
}

TEST(Fp16Product, KeepsInfinity) {
  for (const Fp16Kernels* kernels : fp16_kernels()) {
    std::vector<std::uint16_t> row = {0x7c00, graph::float_to_half(1)};
    EXPECT_EQ(kernels->scale_row(row.data(), row.data(), row.size()), 1);
    EXPECT_EQ(row[0], 0x7c00);
  }
}

}  // namespace
}  // namespace assay::cpu
