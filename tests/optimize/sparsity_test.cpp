#include "assay/sparsity.h"

#include <gmock/gmock.h>

#include "assay/builder.h"
#include "assay/error.h"

namespace assay {
namespace {

// One output of eight inputs: |w| are 1 … 8, their sum is 36.
Graph one_row(bool transposed) {
  GraphBuilder builder("row");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 8});
  const std::vector<std::int64_t> dims =
      transposed ? std::vector<std::int64_t>{1, 8} : std::vector<std::int64_t>{8, 1};
  const ValueId w = builder.constant("w", Tensor::of_float(dims, {1, -2, 3, -4, 5, -6, 7, -8}));
  builder.output(builder.node("Gemm", "linear", {x, w}, {{"transB", std::int64_t{transposed}}}),
                 "y");
  return builder.finish();
}

TEST(Sparsity, HalfOfAMatrixIsCountedBothWays) {
  for (const bool transposed : {false, true}) {
    const SparsityCount count = count_sparsity(one_row(transposed), 0.5);
    ASSERT_EQ(count.layers.size(), 1u);
    EXPECT_EQ(count.layers[0].unstructured_zeros, 4);
    EXPECT_DOUBLE_EQ(count.layers[0].unstructured_magnitude, (5 + 6 + 7 + 8) / 36.0);
    EXPECT_TRUE(count.layers[0].fits_2_4);
    EXPECT_DOUBLE_EQ(count.layers[0].magnitude_2_4, (3 + 4 + 7 + 8) / 36.0);
    EXPECT_EQ(count.totals.macs, 2 * 8);
    EXPECT_EQ(count.totals.unstructured_macs, 2 * 4);
    EXPECT_EQ(count.totals.macs_2_4, 2 * 4);
    EXPECT_EQ(count.totals.dense_bytes, 8 * 4);
    EXPECT_EQ(count.totals.unstructured_bytes, 4 * 4 + 1);  // a byte of 8 bits
    EXPECT_EQ(count.totals.bytes_2_4, 4 * 4 + 1);           // 4 positions of 2 bits
    EXPECT_THAT(count.note, testing::HasSubstr("not run"));
  }
}

// Three inputs of a 1×1 convolution are no multiple of four.
TEST(Sparsity, WhatDoesNotFitTwoOfFourStaysDense) {
  GraphBuilder builder("conv");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 3, 2, 2});
  builder.output(builder.node("Conv", "conv", {x, builder.filled("w", {2, 3, 1, 1}, 1)}), "y");
  const SparsityCount count = count_sparsity(builder.finish(), 0);
  EXPECT_FALSE(count.layers.at(0).fits_2_4);
  EXPECT_EQ(count.totals.macs_2_4, 4 * 2 * 3);
  EXPECT_EQ(count.totals.bytes_2_4, 6 * 4);
}

TEST(Sparsity, LevelsOutOfRangeAreRefused) {
  EXPECT_THROW(count_sparsity(one_row(false), 1), Error);
  EXPECT_THROW(count_sparsity(one_row(false), -0.1), Error);
}

}  // namespace
}  // namespace assay
