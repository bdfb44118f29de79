#include "stats/order_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {

using namespace assay::stats;

namespace {

using ::testing::ElementsAre;
using Ordered = std::vector<double>;

TEST(OrderStatistics, MedianOfEvenCountLiesHalfway) {
  EXPECT_EQ(median(Ordered{3, 1, 2}), 2);
  EXPECT_EQ(median(Ordered{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median(Ordered{7}), 7);
  EXPECT_EQ(median(Ordered{}), 0);
}

TEST(OrderStatistics, QuantilesAreLinearBetweenNeighbours) {
  const Ordered ascending = {10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(quantile_of_sorted(ascending, 0), 10);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(ascending, 1), 40);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(ascending, 0.5), 25);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(ascending, 0.9), 37);  // position 0.9 * 3 = 2.7
  EXPECT_DOUBLE_EQ(value_at_rank(ascending, 1.5), 15);
  EXPECT_DOUBLE_EQ(value_at_rank(ascending, -3), 10);
  EXPECT_DOUBLE_EQ(value_at_rank(ascending, 99), 40);
}

TEST(OrderStatistics, MomentsDivideByOneLess) {
  const auto [mean, deviation] = moments(Ordered{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(mean, 2.5);
  EXPECT_DOUBLE_EQ(deviation, std::sqrt((2.25 + 0.25 + 0.25 + 2.25) / 3));
  EXPECT_EQ(moments(Ordered{5}).standard_deviation, 0);
}

TEST(OrderStatistics, OutliersAreFlaggedByPosition) {
  // Median 10, median distance 0.1: the limit is 3.5 * 1.4826 * 0.1 = 0.52 away.
  EXPECT_THAT(outliers(Ordered{9.8, 10.6, 10, 10, 10, 10.1, 10.2, 9.9}), ElementsAre(1));
  EXPECT_THAT(outliers(Ordered{9.8, 10.5, 10, 10, 10, 10.1, 10.2, 9.9}), ElementsAre());
}

TEST(OrderStatistics, OutliersAreFoundAmongEqualSamples) {
  // The median distance is 0; the mean one, 9 / 10, times 1.2533 * 3.5 is 3.9.
  EXPECT_THAT(outliers(Ordered{1, 1, 1, 1, 1, 10, 1, 1, 1, 1}), ElementsAre(5));
  EXPECT_THAT(outliers(Ordered{1, 1, 1, 1}), ElementsAre());
}

TEST(OrderStatistics, EqualSamplesShareTheirRank) {
  EXPECT_THAT(centred_ranks(Ordered{5, 1, 5, 9}), ElementsAre(0, -1.5, 0, 1.5));
}

}  // namespace
}  // namespace assay
