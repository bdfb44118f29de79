#include "stats/student.h"

#include <gtest/gtest.h>

namespace assay {

using namespace assay::stats;

namespace {

// Any table of the t distribution: two-sided, 95 %.
TEST(StudentT, IsAsPublished) {
  EXPECT_NEAR(student_t(1), 12.706, 5e-4);
  EXPECT_NEAR(student_t(2), 4.303, 5e-4);
  EXPECT_NEAR(student_t(4), 2.776, 5e-4);
  EXPECT_NEAR(student_t(10), 2.228, 5e-4);
  EXPECT_NEAR(student_t(30), 2.042, 5e-4);
}

TEST(StudentT, FallsTowardsTheNormalDistributionAndNeverBelowIt) {
  for (std::size_t degrees = 1; degrees < 200; ++degrees) {
    EXPECT_GE(student_t(degrees), student_t(degrees + 1)) << degrees;
    EXPECT_GE(student_t(degrees), 1.96) << degrees;
  }
}

// A table that ends at 30 with the normal distribution's would claim too narrow intervals.
TEST(StudentT, IsRightBeyondTheUsualTables) {
  EXPECT_NEAR(student_t(31), 2.0395, 5e-4);
  EXPECT_NEAR(student_t(40), 2.0211, 5e-4);
  EXPECT_NEAR(student_t(60), 2.0003, 5e-4);
  EXPECT_NEAR(student_t(120), 1.9799, 5e-4);
}

TEST(StudentT, OfNoDegreesIsThatOfTheNormalDistribution) {
  EXPECT_NEAR(student_t(0), 1.960, 5e-4);
}

}  // namespace
}  // namespace assay
