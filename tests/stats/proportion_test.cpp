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

}  // namespace
}  // namespace assay
