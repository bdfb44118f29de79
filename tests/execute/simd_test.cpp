// Every instruction set this processor has gives the numbers of the C library, within a few units
// in the last place.
#include "execute/cpu/simd/simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "execute/all_kernels.h"
#include "execute/cpu/kernels/row_products.h"
#include "kernels/dropout.h"

namespace assay::cpu {

using namespace assay::kernels;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// From -limit to limit, a count that no vector width divides.
std::vector<float> range(float limit) {
  std::vector<float> values;
  for (int i = 0; i <= 2002; ++i) values.push_back(limit * static_cast<float>(i - 1001) / 1001.0f);
  return values;
}

template <typename Function>
void expect_unary(UnaryOp op, float limit, double tolerance, Function function, float alpha = 0,
                  float beta = 0) {
  const auto in = range(limit);
  for (const SimdKernels* kernels : all_kernels()) {
    std::vector<float> out(in.size());
    kernels->unary(op, alpha, beta, in.data(), out.data(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double wanted = function(static_cast<double>(in[i]));
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(out[i])) << kernels->name << " of " << in[i];
        continue;
      }
      if (std::isinf(wanted)) {
        EXPECT_EQ(out[i], wanted) << kernels->name << " of " << in[i];
        continue;
      }
      ASSERT_NEAR(out[i], wanted, tolerance * std::max(1.0, std::abs(wanted)))
          << kernels->name << " of " << in[i];
    }
  }
}

TEST(Simd, UnaryFunctionsAreThoseOfTheLibrary) {
  expect_unary(UnaryOp::Exp, 80.0f, 4e-7, [](double x) { return std::exp(x); });
  expect_unary(UnaryOp::Log, 50.0f, 4e-7, [](double x) { return std::log(x); });
  expect_unary(UnaryOp::Tanh, 10.0f, 4e-7, [](double x) { return std::tanh(x); });
  expect_unary(UnaryOp::Sigmoid, 20.0f, 4e-7, [](double x) { return 1 / (1 + std::exp(-x)); });
  expect_unary(UnaryOp::Swish, 20.0f, 4e-7, [](double x) { return x / (1 + std::exp(-x)); });
  expect_unary(UnaryOp::Erf, 5.0f, 6e-7, [](double x) { return std::erf(x); });
  expect_unary(UnaryOp::Sqrt, 9.0f, 2e-7, [](double x) { return std::sqrt(x); });
  expect_unary(UnaryOp::Floor, 9.0f, 0, [](double x) { return std::floor(x); });
  expect_unary(UnaryOp::Ceil, 9.0f, 0, [](double x) { return std::ceil(x); });
  expect_unary(UnaryOp::GeluErf, 6.0f, 1e-6,
               [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); });
  expect_unary(UnaryOp::Softplus, 20.0f, 1e-6, [](double x) { return std::log1p(std::exp(x)); });
  expect_unary(
      UnaryOp::HardSigmoid, 6.0f, 2e-7,
      [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }, 0.2f, 0.5f);
}

// Small results keep their digits: below 0 the relative error counts.
TEST(Simd, SigmoidIsAccurateWhereItIsSmall) {
  std::vector<float> in;
  for (float x = -80.0f; x < 0.0f; x += 0.37f) in.push_back(x);
  for (const SimdKernels* kernels : all_kernels()) {
    std::vector<float> out(in.size());
    kernels->unary(UnaryOp::Sigmoid, 0, 0, in.data(), out.data(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double wanted = 1 / (1 + std::exp(-static_cast<double>(in[i])));
      ASSERT_NEAR(out[i] / wanted, 1.0, 4e-7) << kernels->name << " of " << in[i];
    }
  }
}

TEST(Simd, OddNumbersFlowAsIeeeSays) {
  const std::vector<float> in = {kNan, kInfinity, -kInfinity, 0.0f, 100.0f, -120.0f};
  for (const SimdKernels* kernels : all_kernels()) {
    const auto apply = [&](UnaryOp op) {
      std::vector<float> out(in.size());
      kernels->unary(op, 0.0f, 6.0f, in.data(), out.data(), in.size());
      return out;
    };
    for (const UnaryOp op : {UnaryOp::Relu, UnaryOp::Clip, UnaryOp::Exp, UnaryOp::Tanh,
                             UnaryOp::Erf, UnaryOp::Sigmoid, UnaryOp::Log, UnaryOp::Swish}) {
      EXPECT_TRUE(std::isnan(apply(op)[0])) << kernels->name << " op " << static_cast<int>(op);
    }
    EXPECT_EQ(apply(UnaryOp::Relu)[1], kInfinity);
    EXPECT_EQ(apply(UnaryOp::Relu)[2], 0.0f);
    EXPECT_EQ(apply(UnaryOp::Exp)[1], kInfinity);
    EXPECT_EQ(apply(UnaryOp::Exp)[2], 0.0f);
    EXPECT_EQ(apply(UnaryOp::Exp)[4], kInfinity);
    EXPECT_EQ(apply(UnaryOp::Exp)[5], 0.0f);
    EXPECT_EQ(apply(UnaryOp::Log)[1], kInfinity);
    EXPECT_TRUE(std::isnan(apply(UnaryOp::Log)[2]));
    EXPECT_EQ(apply(UnaryOp::Log)[3], -kInfinity);
    EXPECT_EQ(apply(UnaryOp::Swish)[1], kInfinity);
    EXPECT_TRUE(std::isnan(apply(UnaryOp::Swish)[2]));  // -infinity · 0
    EXPECT_EQ(apply(UnaryOp::Swish)[4], 100.0f);
    EXPECT_EQ(apply(UnaryOp::Swish)[5], 0.0f);
    EXPECT_EQ(apply(UnaryOp::Sigmoid)[1], 1.0f);
    EXPECT_EQ(apply(UnaryOp::Sigmoid)[2], 0.0f);
    EXPECT_EQ(apply(UnaryOp::Tanh)[1], 1.0f);
    EXPECT_EQ(apply(UnaryOp::Erf)[2], -1.0f);
    EXPECT_TRUE(std::isnan(kernels->reduce(ReduceOp::Max, in.data(), in.size())));
    EXPECT_EQ(kernels->reduce(ReduceOp::Max, in.data() + 1, in.size() - 1), kInfinity);
  }
}

TEST(Simd, DropoutIsThatOfTheMask) {
  const DropoutMask mask(0.3, 11, 4);
  const DropoutDraw draw{mask.stream(), mask.least(), mask.scale()};
  std::vector<float> in = range(7.0f);
  in[3] = kNan;  // dropped or kept like any other
  for (const SimdKernels* kernels : all_kernels()) {
    for (const std::size_t n : {in.size(), std::size_t{1}, std::size_t{17}}) {
      constexpr std::uint64_t kFirst = 1001;
      std::vector<float> out(n);
      kernels->dropout(draw, kFirst, in.data(), out.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        const double kept = static_cast<double>(in[i]) * mask.scale();
        const auto wanted = static_cast<float>(mask.keeps(kFirst + i) ? kept : 0.0);
        if (std::isnan(wanted)) {
          EXPECT_TRUE(std::isnan(out[i])) << kernels->name;
        } else {
          ASSERT_EQ(out[i], wanted) << kernels->name << " at " << i;
        }
      }
    }
  }
}

TEST(Simd, SoftmaxOfAnyLengthSumsToOne) {
  for (const SimdKernels* kernels : all_kernels()) {
    for (std::size_t n = 1; n < 70; ++n) {
      std::vector<float> in(n);
      for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>(i % 7) - 3.0f;
      std::vector<float> out(n);
      kernels->softmax(in.data(), out.data(), n);
      double sum = 0;
      for (const float share : out) sum += share;
      ASSERT_NEAR(sum, 1.0, 1e-6) << kernels->name << " of " << n;
      if (n < 2) continue;
      ASSERT_NEAR(out[1] / out[0], std::exp(in[1] - in[0]), 1e-5);
    }
  }
}

// Rows of 16-bit numbers, and the same as floats.
struct HalfRows {
  std::size_t n = 0;
  std::vector<std::uint16_t> halves;
  std::vector<float> floats;
  std::vector<float> workspace;

  static constexpr std::size_t kRows = kHalfRowsAtOnce + 3;

  HalfRows(HalfFormat format, std::size_t width)
      : n(width), halves(kRows * n), floats(kRows * n), workspace(kHalfRowsAtOnce * n) {
    for (std::size_t i = 0; i < floats.size(); ++i)
      floats[i] = static_cast<float>(i * 37 % 23) / 4 - 3;  // quarters are exact in 16 bits
    simd().narrow(format, floats.data(), halves.data(), halves.size());
  }
};

// Rounding may fall to the other side where float32 sums differ in their last places.
void expect_rounded(HalfFormat format, const HalfRows& rows) {
  std::vector<std::uint16_t> expected(rows.floats.size());
  simd().narrow(format, rows.floats.data(), expected.data(), expected.size());
  std::size_t others = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_LE(std::abs(rows.halves[i] - expected[i]), 1) << rows.n << " numbers, at " << i;
    if (rows.halves[i] != expected[i]) ++others;
  }
  EXPECT_LE(others, expected.size() / 50) << rows.n << " numbers";
}

TEST(Simd, SoftmaxOfHalvesIsThatOfFloatsRounded) {
  for (const HalfRowKernels* kernels : all_half_rows()) {
    for (const HalfFormat format : {HalfFormat::Bfloat16, HalfFormat::Float16}) {
      for (const std::size_t n : {1u, 5u, 16u, 33u, 197u}) {
        HalfRows rows(format, n);
        for (std::size_t row = 0; row < HalfRows::kRows; ++row)
          simd().softmax(&rows.floats[row * n], &rows.floats[row * n], n);
        kernels->softmax(format, rows.halves.data(), rows.halves.data(), rows.workspace.data(), n,
                         HalfRows::kRows);
        expect_rounded(format, rows);
      }
    }
  }
}

TEST(Simd, SoftmaxOfHalvesGivesNothingToWhatIsMasked) {
  constexpr std::uint16_t kLowest = 0xff7f;  // in bf16
  constexpr std::uint16_t kOne = 0x3f80;
  for (const HalfRowKernels* kernels : all_half_rows()) {
    std::vector<std::uint16_t> row(37, kLowest);
    row[20] = kOne;
    std::vector<float> workspace(kHalfRowsAtOnce * row.size());
    kernels->softmax(HalfFormat::Bfloat16, row.data(), row.data(), workspace.data(), row.size(), 1);
    for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i], i == 20 ? kOne : 0) << i;
  }
}

// With FMA; in the order of layer_norm.inc.
std::vector<float> layer_norm_in_eight_sums(const std::vector<float>& in,
                                            const LayerNormArguments& norm) {
  const std::size_t n = in.size();
  const double sum = std::accumulate(in.begin(), in.end(), 0.0);
  const auto mean = static_cast<float>(sum / static_cast<double>(n));
  std::array<float, 8> sums{};
  for (std::size_t i = 0; i < n; ++i)
    sums[i % 8] = std::fma(in[i] - mean, in[i] - mean, sums[i % 8]);
  const float squares =
      ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  const float scale = 1.0f / std::sqrt(squares / static_cast<float>(n) + norm.epsilon);
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = std::fma((in[i] - mean) * scale, norm.gamma[i], norm.beta[i]);
  return out;
}

TEST(Simd, LayerNormIsRoundedAlikeByAllInstructionSetsWithFma) {
  constexpr std::size_t kMost = 768;
  std::vector<float> row(kMost), gamma(kMost), beta(kMost);
  for (std::size_t i = 0; i < kMost; ++i) {
    row[i] = static_cast<float>(static_cast<int>(i * 37 % 251) - 131) * 0.0234f;
    gamma[i] = static_cast<float>(i % 97 + 1) * 0.0078f;
    beta[i] = static_cast<float>(i % 41) * 0.01f;
  }
  const LayerNormArguments norm{gamma.data(), beta.data(), 1e-6f};
  for (const std::size_t n : {8u, 16u, 24u, 200u, 768u}) {
    const std::vector<float> in(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n));
    const std::vector<float> expected = layer_norm_in_eight_sums(in, norm);
    constexpr std::size_t kRows = 5;  // more than a group, which is summed together
    std::vector<float> rows;
    for (std::size_t r = 0; r < kRows; ++r) rows.insert(rows.end(), in.begin(), in.end());
    for (const SimdKernels* kernels : all_kernels()) {
      std::vector<float> out(rows.size());
      kernels->layer_norm(norm, rows.data(), out.data(), n, kRows);
      const float tolerance = kernels == &simd_baseline() ? 1e-5f : 0;  // without FMA
      for (std::size_t i = 0; i < out.size(); ++i)
        EXPECT_NEAR(out[i], expected[i % n], tolerance) << kernels->name << " " << n << " " << i;
    }
  }
}

TEST(Simd, LayerNormOfHalvesIsThatOfFloatsRounded) {
  std::vector<float> gamma(200), beta(200);
  for (std::size_t i = 0; i < gamma.size(); ++i) {
    gamma[i] = 1 + static_cast<float>(i % 5) / 8;
    beta[i] = static_cast<float>(i % 3) - 1;
  }
  for (const HalfRowKernels* kernels : all_half_rows()) {
    for (const HalfFormat format : {HalfFormat::Bfloat16, HalfFormat::Float16}) {
      for (const std::size_t n : {1u, 5u, 16u, 33u, 48u, 197u}) {
        const LayerNormArguments norm{gamma.data(), n == 33 ? nullptr : beta.data(), 1e-5f};
        HalfRows rows(format, n);
        for (std::size_t row = 0; row < HalfRows::kRows; ++row)
          simd().layer_norm(norm, &rows.floats[row * n], &rows.floats[row * n], n, 1);
        kernels->layer_norm(norm, format, rows.halves.data(), rows.halves.data(),
                            rows.workspace.data(), n, HalfRows::kRows);
        expect_rounded(format, rows);
      }
    }
  }
}

TEST(Simd, SoftmaxOfHalvesWithANaNIsNaN) {
  constexpr std::uint16_t kNaN = 0x7fc0;  // in bf16
  for (const HalfRowKernels* kernels : all_half_rows()) {
    for (const std::size_t at : {0u, 20u, 36u}) {
      std::vector<std::uint16_t> row(37, 0x3f80);
      std::vector<float> workspace(kHalfRowsAtOnce * row.size());
      row[at] = kNaN;
      kernels->softmax(HalfFormat::Bfloat16, row.data(), row.data(), workspace.data(), row.size(),
                       1);
      std::vector<float> shares(row.size());
      simd().widen(HalfFormat::Bfloat16, row.data(), shares.data(), row.size());
      for (const float share : shares) EXPECT_TRUE(std::isnan(share)) << at;
    }
  }
}

TEST(Simd, SumsOf8BitNumbersAreTheSameForEveryLength) {
  std::vector<std::uint8_t> a(300), b(300);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint8_t>(i * 97);
    b[i] = static_cast<std::uint8_t>(i * 31 + 5);
  }
  for (const SimdKernels* kernels : all_kernels()) {
    for (const bool is_signed : {false, true}) {
      const Scale8 to{.scale = 0.021f, .zero_point = is_signed ? -20 : 40, .is_signed = is_signed};
      const Combination8 how{.a = {.scale = 0.03f, .zero_point = 100, .is_signed = false},
                             .b = {.scale = 0.011f, .zero_point = 3, .is_signed = is_signed},
                             .to = to,
                             .clamp = {is_signed ? -100 : 10, is_signed ? 90 : 250}};
      // One at a time.
      std::vector<std::uint8_t> expected(a.size()), found(a.size());
      for (std::size_t i = 0; i < a.size(); ++i)
        kernels->combine(how, &a[i], &b[i], &expected[i], 1);
      for (const std::size_t n : {63u, 64u, 100u, 300u}) {
        kernels->combine(how, a.data(), b.data(), found.data(), n);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(found[i], expected[i]) << kernels->name << ", " << i << " of " << n;
      }
    }
  }
}

TEST(Simd, VectorTimesMatrixAddsToTheResult) {
  constexpr std::size_t kRows = 5;
  constexpr std::size_t kColumns = 150;
  std::vector<float> x(kRows), matrix(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 2.0f;
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i % 13);
  for (const SimdKernels* kernels : all_kernels()) {
    std::vector<float> out(kColumns, 1.0f);
    kernels->add_vector_matrix(x.data(), kRows, matrix.data(), kColumns, out.data(), kColumns);
    for (std::size_t j = 0; j < kColumns; ++j) {
      float wanted = 1.0f;
      for (std::size_t k = 0; k < kRows; ++k) wanted += x[k] * matrix[k * kColumns + j];
      ASSERT_FLOAT_EQ(out[j], wanted) << kernels->name << " column " << j;
    }
  }
}

// Numbers between 0 and 1, another row of them for each name.
std::vector<float> shares(std::size_t n, unsigned row) {
  std::vector<float> values;
  for (std::size_t i = 0; i < n; ++i) {
    values.push_back(static_cast<float>((i * 37 + row * 101) % 97 + 1) / 98.0f);
  }
  return values;
}

// h = o·tanh(c), c = f·c' + i·g: what reaches c goes on to all that it is made of.
// Small whole numbers, whose products add up exactly in any order.
std::vector<float> exact_factors(std::int64_t count, std::int64_t first) {
  std::vector<float> numbers;
  for (std::int64_t i = first; i < first + count; ++i)
    numbers.push_back(static_cast<float>(i * 7 % 13 - 6));
  return numbers;
}

// Rows lie with gaps between them, which keep what is there.
void expect_panels_multiply(const SimdKernels& kernels, const MatrixSizes& sizes,
                            bool is_transposed) {
  const auto [rows, columns, depth] = sizes;
  const std::int64_t a_stride = depth + 3, b_stride = (is_transposed ? depth : columns) + 1;
  const std::int64_t stride = columns + 2;
  const auto a = exact_factors(rows * a_stride, 0);
  const auto b = exact_factors((is_transposed ? columns : depth) * b_stride, 5);
  std::vector<float> found(static_cast<std::size_t>(rows * stride), -1);
  std::vector<float> workspace(static_cast<std::size_t>(panel_gemm_floats(rows, kernels)));
  panel_gemm(sizes, {a.data(), a_stride}, {b.data(), b_stride, is_transposed}, 0.5f, found.data(),
             stride, workspace.data(), kernels);
  std::vector<float> expected(found.size(), -1);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t row = i / columns, column = i % columns;
    float sum = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += a[static_cast<std::size_t>(row * a_stride + k)] *
             b[static_cast<std::size_t>(is_transposed ? column * b_stride + k
                                                      : k * b_stride + column)];
    expected[static_cast<std::size_t>(row * stride + column)] = sum / 2;
  }
  EXPECT_EQ(found, expected) << kernels.name << ", " << rows << " x " << depth << " x " << columns;
}

// Also columns that fill no panel, and more depth than is packed at once.
TEST(Simd, PanelsMultiplyMatricesOfAnySize) {
  for (const SimdKernels* kernels : all_kernels()) {
    for (const MatrixSizes& sizes : {MatrixSizes{5, 3, 2}, MatrixSizes{17, 40, 300},
                                     MatrixSizes{1, 33, 256}, MatrixSizes{64, 64, 64}}) {
      expect_panels_multiply(*kernels, sizes, false);
      expect_panels_multiply(*kernels, sizes, true);
    }
  }
}

TEST(Simd, LstmBackwardFollowsTheChainRule) {
  for (const SimdKernels* kernels : all_kernels()) {
    for (const std::size_t n : {1u, 7u, 16u, 32u, 35u}) {
      const auto gates = shares(4 * n, 0), old_cell = shares(n, 1), cell = shares(n, 2);
      const auto given = shares(n, 3), by_output = shares(n, 4), by_cell = shares(n, 5);
      auto hidden_gradient = given, cell_gradient = by_cell;
      std::vector<float> deltas(4 * n);
      kernels->lstm_backward({gates.data(), n, old_cell.data(), cell.data(), by_output.data(),
                              hidden_gradient.data(), cell_gradient.data(), deltas.data(), n},
                             n);
      for (std::size_t i = 0; i < n; ++i) {
        const double in = gates[i], out = gates[n + i], forget = gates[2 * n + i];
        const double candidate = gates[3 * n + i], squashed = std::tanh(cell[i]);
        const double by_hidden = given[i] + by_output[i];
        const double all = by_cell[i] + by_hidden * out * (1 - squashed * squashed);
        EXPECT_NEAR(deltas[i], all * candidate * in * (1 - in), 1e-6) << kernels->name;
        EXPECT_NEAR(deltas[n + i], by_hidden * squashed * out * (1 - out), 1e-6);
        EXPECT_NEAR(deltas[2 * n + i], all * old_cell[i] * forget * (1 - forget), 1e-6);
        EXPECT_NEAR(deltas[3 * n + i], all * in * (1 - candidate * candidate), 1e-6);
        EXPECT_NEAR(cell_gradient[i], all * forget, 1e-6);
        EXPECT_EQ(hidden_gradient[i], 0);
      }
    }
  }
}

// h = (1 - z)·g + z·h', and g holds r·(R·h') or R·(r·h').
TEST(Simd, GruBackwardFollowsTheChainRule) {
  constexpr std::size_t n = 35;
  const auto gates = shares(3 * n, 0), old = shares(n, 1), recurrent = shares(n, 2);
  const auto given = shares(n, 3), by_reset_state = shares(n, 4);
  for (const SimdKernels* kernels : all_kernels()) {
    auto gradient = given, linear_gradient = given;
    std::vector<float> deltas(3 * n), linear(4 * n);
    GruUnitsBackward units{gates.data(),  n, old.data(), nullptr, nullptr, gradient.data(),
                           deltas.data(), n};
    kernels->gru_backward(units, n);
    kernels->gru_reset_backward(units, by_reset_state.data(), n);
    units.recurrent = recurrent.data();
    units.hidden_gradient = linear_gradient.data();
    units.deltas = linear.data();
    kernels->gru_backward(units, n);
    for (std::size_t i = 0; i < n; ++i) {
      const double update = gates[i], reset = gates[n + i], candidate = gates[2 * n + i];
      const double by_candidate = given[i] * (1 - update) * (1 - candidate * candidate);
      const double by_update = given[i] * (old[i] - candidate) * update * (1 - update);
      const double slope = reset * (1 - reset);
      EXPECT_NEAR(deltas[i], by_update, 1e-6) << kernels->name;
      EXPECT_NEAR(deltas[n + i], by_reset_state[i] * old[i] * slope, 1e-6);
      EXPECT_NEAR(deltas[2 * n + i], by_candidate, 1e-6);
      EXPECT_NEAR(gradient[i], given[i] * update + by_reset_state[i] * reset, 1e-6);
      EXPECT_NEAR(linear[i], by_update, 1e-6);
      EXPECT_NEAR(linear[n + i], by_candidate * recurrent[i] * slope, 1e-6);
      EXPECT_NEAR(linear[2 * n + i], by_candidate * reset, 1e-6);
      EXPECT_NEAR(linear[3 * n + i], by_candidate, 1e-6);
      EXPECT_NEAR(linear_gradient[i], given[i] * update, 1e-6);
    }
  }
}

}  // namespace
}  // namespace assay::cpu
