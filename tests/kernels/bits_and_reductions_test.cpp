// BitShift and the bitwise ops; the reductions by norm and logarithm.
#include <cmath>
#include <limits>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

TEST(BitwiseKernels, ShiftsDropWhatLeavesTheWidth) {
  const Tensor numbers = bytes_tensor({4}, {1, 0x81, 0xff, 1});
  const Tensor by = bytes_tensor({4}, {3, 1, 8, 200});
  EXPECT_EQ(result_of({"BitShift", {numbers, by}, {text("direction", "LEFT")}}),
            bytes_tensor({4}, {8, 2, 0, 0}));
  EXPECT_EQ(result_of({"BitShift", {numbers, by}, {text("direction", "RIGHT")}}),
            bytes_tensor({4}, {0, 0x40, 0, 0}));
  EXPECT_THROW(result_of({"BitShift", {numbers, by}, {text("direction", "UP")}}), Error);
  const Tensor longs = long_tensor({1}, {1});
  EXPECT_THROW(result_of({"BitShift", {longs, longs}, {text("direction", "LEFT")}}), Error);
}

TEST(BitwiseKernels, CombineBitByBit) {
  const Tensor a = bytes_tensor({2}, {0b1100, 0xff});
  const Tensor b = bytes_tensor({1}, {0b1010});
  EXPECT_EQ(result_of({"BitwiseAnd", {a, b}}), bytes_tensor({2}, {0b1000, 0b1010}));
  EXPECT_EQ(result_of({"BitwiseOr", {a, b}}), bytes_tensor({2}, {0b1110, 0xff}));
  EXPECT_EQ(result_of({"BitwiseXor", {a, b}}), bytes_tensor({2}, {0b0110, 0xf5}));
  EXPECT_EQ(result_of({"BitwiseNot", {a}}), bytes_tensor({2}, {0xf3, 0}));
  EXPECT_THROW(result_of({"BitwiseNot", {real_tensor({1}, {1})}}), Error);
}

const Tensor kMatrix = real_tensor({2, 2}, {1, -2, 3, -4});

TEST(ReductionKernels, NormsFoldTheAxesNamed) {
  const Attribute rows = list("axes", {1});
  expect_near(result_of({"ReduceL1", {kMatrix}, {rows}}), {1 + 2, 3 + 4});
  expect_near(result_of({"ReduceSumSquare", {kMatrix}, {rows}}), {1 + 4, 9 + 16});
  expect_near(result_of({"ReduceL2", {kMatrix}, {rows}}), {std::sqrt(5.0), 5});
  EXPECT_EQ(result_of({"ReduceL2", {kMatrix}, {rows, number("keepdims", 0)}}).dims(), Sizes{2});
  EXPECT_EQ(result_of({"ReduceL2", {kMatrix}}).dims(), (Sizes{1, 1}));
}

TEST(ReductionKernels, NormsOfIntegersStayExactAndWrap) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(result_of({"ReduceL1", {long_tensor({2}, {-large, large})}}).to_int64(),
            Sizes{2 * large});
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(result_of({"ReduceL1", {long_tensor({1}, {lowest})}}).to_int64(), Sizes{lowest});
}

TEST(ReductionKernels, MeansOfSmallIntegersDivideByMoreThanTheyCanHold) {
  const std::vector<std::int8_t> zeros(256, 0);  // 256 is 0 in eight bits
  const Tensor mean =
      result_of({"ReduceMean", {Tensor::of<std::int8_t>(DataType::Int8, {256}, zeros)}});
  EXPECT_EQ(mean.to_int64(), Sizes{0});
}

TEST(ReductionKernels, LogarithmsOfSumsDoNotOverflow) {
  expect_near(result_of({"ReduceLogSum", {real_tensor({2}, {1, 2})}}), {std::log(3.0)});
  expect_near(result_of({"ReduceLogSumExp", {real_tensor({2}, {1000, 1000})}}),
              {1000 + std::log(2.0)}, 1e-4);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(result_of({"ReduceLogSumExp", {real_tensor({2}, {-infinity, 0})}}).to_double()[0], 0);
  EXPECT_EQ(result_of({"ReduceLogSumExp", {real_tensor({1}, {-infinity})}}).to_double()[0],
            -infinity);
}

TEST(ReductionKernels, ManySmallNumbersAreNotLostInALargeSum) {
  // In float, 2^24 + 1 is 2^24: summed one by one, the ones would vanish.
  std::vector<float> numbers(1 + 1024, 1.0f);
  numbers[0] = 16777216.0f;
  const auto count = static_cast<std::int64_t>(numbers.size());
  EXPECT_EQ(result_of({"ReduceSum", {real_tensor({count}, numbers)}}).to_double()[0],
            16777216.0 + 1024);
}

}  // namespace
}  // namespace assay
