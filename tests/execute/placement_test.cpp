#include "execute/cpu/placement.h"

#include <gtest/gtest.h>

namespace assay::cpu {
namespace {

TEST(Placement, OfNothingIsRowMajorHoweverLargeItsOtherDimensions) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  Placement placement;
  placement.dims = {0, 3, kLarge};
  placement.strides = {1, 1, 1};
  EXPECT_TRUE(placement.is_row_major());
}

TEST(Placement, IsRowMajorOnlyWithItsOwnStrides) {
  Placement placement;
  placement.dims = {2, 1, 3};
  placement.strides = {3, 7, 1};  // the stride of a single element is never used
  EXPECT_TRUE(placement.is_row_major());
  placement.strides = {1, 7, 2};
  EXPECT_FALSE(placement.is_row_major());
}

}  // namespace
}  // namespace assay::cpu
