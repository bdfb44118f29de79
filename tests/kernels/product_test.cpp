// MatMul, Gemm, Einsum and the integer products.
#include <cmath>
#include <limits>

#include "graph/half.h"
#include "kernels/kernel_runner.h"

namespace assay {

using namespace assay::graph;

namespace {

const Tensor kTwoByTwo = real_tensor({2, 2}, {1, 2, 3, 4});

TEST(MatMul, FollowsNumpy) {
  const Tensor column = real_tensor({2, 1}, {10, 1});
  EXPECT_EQ(result_of({"MatMul", {kTwoByTwo, column}}).to_double(), (Numbers{12, 34}));
  const Tensor vector = real_tensor({2}, {10, 1});
  EXPECT_EQ(result_of({"MatMul", {vector, kTwoByTwo}}).dims(), (Sizes{2}));
  EXPECT_EQ(result_of({"MatMul", {vector, kTwoByTwo}}).to_double(), (Numbers{13, 24}));
  EXPECT_EQ(result_of({"MatMul", {vector, vector}}).dims(), Sizes{});
  EXPECT_EQ(result_of({"MatMul", {vector, vector}}).to_double(), (Numbers{101}));
}

TEST(MatMul, BroadcastsTheAxesBefore) {
  const Tensor left = real_tensor({2, 1, 1, 1}, {2, 3});
  const Tensor right = real_tensor({3, 1, 1}, {5, 7, 11});
  const Tensor result = result_of({"MatMul", {left, right}});
  EXPECT_EQ(result.dims(), (Sizes{2, 3, 1, 1}));
  EXPECT_EQ(result.to_double(), (Numbers{10, 14, 22, 15, 21, 33}));
}

TEST(MatMul, IntegersWrap) {
  const auto large = std::numeric_limits<std::int32_t>::max();
  const Tensor row = whole_tensor<std::int32_t>(DataType::Int32, {1, 2}, {large, -2});
  const Tensor column = whole_tensor<std::int32_t>(DataType::Int32, {2, 1}, {2, 3});
  // 2 · (2³¹ - 1) - 6 = 2³² - 8
  EXPECT_EQ(result_of({"MatMul", {row, column}}).to_int64(), (Sizes{-8}));
}

TEST(MatMul, HalvesAreSummedWideAndRoundedOnce) {
  const std::vector<std::uint16_t> bits = {float_to_half(2048), float_to_half(1), float_to_half(1)};
  const Tensor row = whole_tensor<std::uint16_t>(DataType::Float16, {1, 3}, bits);
  const std::vector<std::uint16_t> ones(3, float_to_half(1));
  const Tensor column = whole_tensor<std::uint16_t>(DataType::Float16, {3, 1}, ones);
  // In float16, 2048 + 1 is 2048.
  EXPECT_EQ(result_of({"MatMul", {row, column}}).to_double(), (Numbers{2050}));
}

TEST(MatMul, NothingSummedIsZero) {
  const Tensor result = result_of({"MatMul", {real_tensor({2, 0}, {}), real_tensor({0, 1}, {})}});
  EXPECT_EQ(result.to_double(), (Numbers{0, 0}));
}

TEST(MatMul, RefusesWhatDoesNotFit) {
  EXPECT_THROW(result_of({"MatMul", {kTwoByTwo, real_tensor({3, 1}, {1, 2, 3})}}), Error);
  EXPECT_THROW(result_of({"MatMul", {kTwoByTwo, real_tensor({}, {1})}}), Error);
  EXPECT_THROW(result_of({"MatMul", {kTwoByTwo, long_tensor({2, 1}, {1, 2})}}), Error);
  EXPECT_THROW(
      result_of({"MatMul", {real_tensor({2, 1, 1}, {1, 2}), real_tensor({3, 1, 1}, {1, 2, 3})}}),
      Error);
}

TEST(Gemm, TransposesScalesAndAdds) {
  const Tensor a = real_tensor({2, 1}, {3, 4});
  const Tensor b = real_tensor({2, 2}, {1, 2, 10, 20});
  const Tensor c = real_tensor({2}, {100, 200});
  const Case test = {"Gemm",
                     {a, b, c},
                     {number("transA", 1), number("transB", 1), real_number("alpha", 0.5f),
                      real_number("beta", 2)}};
  // 0.5 · (3 · 1 + 4 · 2) + 2 · 100, 0.5 · (3 · 10 + 4 · 20) + 2 · 200
  EXPECT_EQ(result_of(test).to_double(), (Numbers{205.5, 455}));
}

TEST(Gemm, RefusesWhatDoesNotFit) {
  const Tensor three = real_tensor({3}, {1, 2, 3});
  EXPECT_THROW(result_of({"Gemm", {kTwoByTwo, kTwoByTwo, three}}), Error);
  EXPECT_THROW(result_of({"Gemm", {kTwoByTwo, three}}), Error);
  const Tensor cube = real_tensor({2, 2, 2}, std::vector<float>(8));
  EXPECT_THROW(result_of({"Gemm", {kTwoByTwo, kTwoByTwo, cube}}), Error);
}

Case einsum(const char* equation, std::vector<Tensor> inputs) {
  return {"Einsum", std::move(inputs), {text("equation", equation)}};
}

TEST(Einsum, SumsTransposesAndTakesDiagonals) {
  EXPECT_EQ(result_of(einsum("ij->ji", {kTwoByTwo})).to_double(), (Numbers{1, 3, 2, 4}));
  EXPECT_EQ(result_of(einsum("ij->i", {kTwoByTwo})).to_double(), (Numbers{3, 7}));
  EXPECT_EQ(result_of(einsum("ii", {kTwoByTwo})).to_double(), (Numbers{5}));
  EXPECT_EQ(result_of(einsum("ij, jk -> ik", {kTwoByTwo, kTwoByTwo})).to_double(),
            (Numbers{7, 10, 15, 22}));
  EXPECT_EQ(result_of(einsum("...j,...j->...", {kTwoByTwo, kTwoByTwo})).to_double(),
            (Numbers{1 + 4, 9 + 16}));
}

TEST(Einsum, ManyOperandsAreMultipliedTwoByTwo) {
  const Tensor ones = real_tensor({100}, std::vector<float>(100, 1));
  // Summed at once this would be 100⁵ products.
  const Case test = einsum("a,b,c,d,e->", {ones, ones, ones, ones, ones});
  EXPECT_EQ(result_of(test).to_double(), (Numbers{1e10}));
}

TEST(Einsum, RefusesWhatDoesNotFit) {
  EXPECT_THROW(result_of(einsum("ij,jk->ik", {kTwoByTwo})), Error);
  EXPECT_THROW(result_of(einsum("ijk->i", {kTwoByTwo})), Error);
  EXPECT_THROW(result_of(einsum("ij->z", {kTwoByTwo})), Error);
  EXPECT_THROW(result_of(einsum("ij->ii", {kTwoByTwo})), Error);
  EXPECT_THROW(result_of(einsum("i.j->i", {kTwoByTwo})), Error);
  EXPECT_THROW(result_of(einsum("ij,j->i", {kTwoByTwo, real_tensor({3}, {1, 2, 3})})), Error);
}

TEST(IntegerProducts, HaveZeroPointsByRowAndColumn) {
  const Tensor a = bytes_tensor({2, 1}, {10, 20});
  const Tensor b = bytes_tensor({1, 2}, {3, 5});
  const Case test = {"MatMulInteger",
                     {a, b, bytes_tensor({2}, {8, 17}), bytes_tensor({2}, {2, 1})}};
  EXPECT_EQ(result_of(test).to_int64(), (Sizes{2 * 1, 2 * 4, 3 * 1, 3 * 4}));
  EXPECT_THROW(result_of({"MatMulInteger", {kTwoByTwo, kTwoByTwo}}), Error);
}

TEST(IntegerProducts, AreScaledToEightBits) {
  const Tensor a = bytes_tensor({1, 2}, {4, 6});
  const Tensor b = bytes_tensor({2, 1}, {2, 3});
  const Tensor half = real_tensor({}, {0.5f});
  const Tensor one = real_tensor({}, {1});
  const Tensor zero = bytes_tensor({}, {0});
  const Case test = {"QLinearMatMul",
                     {a, half, zero, b, one, bytes_tensor({}, {1}), one, bytes_tensor({}, {100})}};
  // (4 · 1 + 6 · 2) · 0.5 + 100
  EXPECT_EQ(result_of(test).to_int64(), (Sizes{108}));
}

}  // namespace
}  // namespace assay
