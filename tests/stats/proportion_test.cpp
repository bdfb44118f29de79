#include "stats/proportion.h"

#include <gtest/gtest.h>

namespace assay {

using namespace assay::stats;

namespace {

// Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I.
TEST(WilsonInterval, IsAsPublished) {
  EXPECT_NEAR(wilson_interval(81, 263).low, 0.2553, 5e-5);
  EXPECT_NEAR(wilson_interval(81, 263).high, 0.3662, 5e-5);
  EXPECT_NEAR(wilson_interval(15, 148).low, 0.0624, 5e-5);
  EXPECT_NEAR(wilson_interval(15, 148).high, 0.1605, 5e-5);
  EXPECT_NEAR(wilson_interval(1, 29).low, 0.0061, 5e-5);
  EXPECT_NEAR(wilson_interval(1, 29).high, 0.1718, 5e-5);
}

TEST(WilsonInterval, StaysWithinZeroAndOne) {
  EXPECT_DOUBLE_EQ(wilson_interval(0, 20).low, 0);
  EXPECT_NEAR(wilson_interval(0, 20).high, 0.1611, 5e-5);
  EXPECT_DOUBLE_EQ(wilson_interval(20, 20).high, 1);
}

TEST(WilsonInterval, OfNothingIsEverything) {
  EXPECT_DOUBLE_EQ(wilson_interval(0, 0).low, 0);
  EXPECT_DOUBLE_EQ(wilson_interval(0, 0).high, 1);
}

TEST(PairedDifferenceInterval, AddsHalfASampleToEachCell) {
  // gained 6, lost 16, of 100: (6.5 - 16.5) / 102 ± 1.96 * sqrt(23 - 100 / 102) / 102.
  const Interval interval = paired_difference_interval(6, 16, 100);
  EXPECT_NEAR(interval.low, -0.09804 - 0.09018, 1e-4);
  EXPECT_NEAR(interval.high, -0.09804 + 0.09018, 1e-4);
}

TEST(PairedDifferenceInterval, OfEqualPredictionsIsNarrow) {
  const Interval interval = paired_difference_interval(0, 0, 3000);
  EXPECT_NEAR(interval.high, 1.96 / 3002, 1e-6);
  EXPECT_DOUBLE_EQ(interval.low, -interval.high);
}

}  // namespace
}  // namespace assay
