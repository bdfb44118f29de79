// What can be said of the same elements by strides alone.
#include "execute/cuda/placement.h"

#include <gtest/gtest.h>

#include "execute/cuda/walk.h"
#include "execute/cuda/window_strip.h"

namespace assay::cuda {
namespace {

Placement strided(Dims dims, Dims strides, std::int64_t offset = 0) {
  return {.buffer = {},
          .type = DataType::Float32,
          .dims = std::move(dims),
          .strides = std::move(strides),
          .offset = offset};
}

// Strides of axes that have several elements; those of others say nothing.
Dims strides_after(const Placement& placement, const Dims& dims) {
  const auto seen = reshaped(placement, dims);
  if (!seen) return {-1};
  EXPECT_EQ(seen->dims, dims);
  EXPECT_EQ(seen->offset, placement.offset);
  Dims strides = seen->strides;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == 1) strides[i] = 0;
  return strides;
}

const Dims kTakesACopy = {-1};

TEST(CudaPlacement, SplitsAnyAxisIntoSeveral) {
  // The keys of a projection of 3 · 8 columns, as 2 heads of 4.
  const Placement keys = strided({1, 5, 8}, {120, 24, 1}, 8);
  EXPECT_EQ(strides_after(keys, {1, 5, 2, 4}), (Dims{0, 24, 4, 1}));
  EXPECT_EQ(strides_after(strided({6, 4}, {1, 6}), {2, 3, 2, 2}), (Dims{3, 1, 12, 6}));
}

TEST(CudaPlacement, MergesAxesThatLieBehindEachOther) {
  EXPECT_EQ(strides_after(strided({5, 2, 4}, {24, 4, 1}), {5, 8}), (Dims{24, 1}));
  EXPECT_EQ(strides_after(strided({2, 3, 4}, {24, 8, 2}), {24}), (Dims{2}));
}

TEST(CudaPlacement, RegroupsWithinARun) {
  EXPECT_EQ(strides_after(strided({4, 6, 5}, {60, 10, 1}), {8, 3, 5}), (Dims{30, 10, 1}));
}

TEST(CudaPlacement, TakesACopyWhereAxesLieApart) {
  EXPECT_EQ(strides_after(strided({2, 5, 4}, {4, 8, 1}), {10, 4}), kTakesACopy);
  EXPECT_EQ(strides_after(strided({5, 8}, {24, 1}), {40}), kTakesACopy);
  EXPECT_EQ(strides_after(strided({3, 4}, {24, 1}), {4, 3}), kTakesACopy);
}

TEST(CudaPlacement, KeepsRepeatedAxes) {
  EXPECT_EQ(strides_after(strided({2, 3, 4}, {0, 0, 1}), {6, 4}), (Dims{0, 1}));
  EXPECT_EQ(strides_after(strided({3, 4}, {0, 1}), {12}), kTakesACopy);
}

TEST(CudaPlacement, IgnoresAxesOfOneElement) {
  EXPECT_EQ(strides_after(strided({1, 5, 1, 4}, {7, 4, 99, 1}), {20, 1}), (Dims{1, 0}));
  EXPECT_EQ(strides_after(strided({1}, {9}), {}), Dims{});
}

TEST(CudaPlacement, HoldsNothingOrRefusesOtherCounts) {
  EXPECT_TRUE(reshaped(strided({0, 4}, {4, 1}), {2, 0}));
  EXPECT_FALSE(reshaped(strided({3, 4}, {4, 1}), {13}));
}

const std::vector<std::string> kCoordinates = {"i0", "i1", "i2", "i3"};

TEST(CudaPlacement, FindsElementsBeyond32BitsBy64) {
  const Placement small = row_major_placement(DataType::Float32, {600, 64, 112, 112});
  EXPECT_EQ(offset_text(small, kCoordinates), "(i0) * 802816 + (i1) * 12544 + (i2) * 112 + (i3)");
  const Placement large = row_major_placement(DataType::Float32, {6000, 64, 112, 112});
  EXPECT_EQ(offset_text(large, kCoordinates),
            "(long long)(i0) * 802816 + (long long)(i1) * 12544 + (long long)(i2) * 112 + "
            "(long long)(i3)");
  const Placement far_apart = strided({2, 4}, {std::int64_t{1} << 31, 1});
  EXPECT_EQ(offset_text(far_apart, std::vector<std::string>{"i0", "i1"}),
            "(long long)(i0) * 2147483648 + (long long)(i1)");
}

TEST(CudaPlacement, CountsStripsBeyond32BitsBy64) {
  kernels::WindowGrid grid{.rank = 2};
  for (std::size_t axis : {1, 2})
    grid.axes[axis] = {.input = 112, .output = 56, .kernel = 2, .stride = 2};
  for (const std::int64_t batch : {64, 6000}) {
    const auto strip =
        window_strip_of(grid, channels_last_placement(DataType::Float32, {batch, 64, 112, 112}));
    ASSERT_TRUE(strip);
    Epilogue epilogue;
    epilogue.result = channels_last_placement(DataType::Float32, {batch, 64, 56, 56});
    const std::string text = strip_kernel(*strip, {.image = "given0"}, epilogue).text;
    const bool is_far = batch == 6000;
    EXPECT_EQ(text.find("const long long strip") != std::string::npos, is_far);
    EXPECT_EQ(text.find("(long long)(batch)") != std::string::npos, is_far);
  }
}

}  // namespace
}  // namespace assay::cuda
