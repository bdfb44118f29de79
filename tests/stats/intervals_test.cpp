#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "stats/autocorrelation.h"
#include "stats/median_interval.h"
#include "stats/order_statistics.h"
#include "stats/paired_shift.h"
#include "stats/series.h"

namespace assay {

using namespace assay::stats;

namespace {

using assay::testing::noisy_series;
using Samples = std::vector<double>;

// 1 + 2 * the sum of (2/pi) asin(r^k): the correlation time of the sides of the median.
double known_correlation_time(double persistence) {
  double time = 1;
  for (int lag = 1; lag < 2000; ++lag) {
    time += 4 / std::numbers::pi * std::asin(std::pow(persistence, lag));
  }
  return time;
}

TEST(CorrelationTime, OfIndependentSamplesIsAboutOne) {
  Samples times;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    times.push_back(correlation_time_of_median(noisy_series(500, 0.1, 0, seed)));
  }
  EXPECT_EQ(median(times), 1);
  EXPECT_LT(moments(times).mean, 1.1);
}

TEST(CorrelationTime, OfAnAutoregressionIsTheKnownOne) {
  for (const double persistence : {0.5, 0.9}) {
    Samples times;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      times.push_back(correlation_time_of_median(noisy_series(2000, 0.1, persistence, seed)));
    }
    const double known = known_correlation_time(persistence);  // 2.3 and 13.2
    EXPECT_NEAR(median(times), known, 0.1 * known) << persistence;
  }
}

TEST(CorrelationTime, SeesChangesFarSlowerThanItsModelReaches) {
  // A level that changes every 500 samples: 20 lags cannot see that, batches can. The sides of the
  // median stay equal for 500 samples, so that their correlation time is about 500.
  const auto levels = noisy_series(40, 0.5, 0, 1);
  auto samples = noisy_series(20'000, 0.01, 0, 2);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] *= levels[i / 500];
  EXPECT_GT(correlation_time_of_median(samples), 150);
}

TEST(CorrelationTime, OfAConstantOrAHandfulIsOne) {
  EXPECT_EQ(correlation_time_of_median(Samples(100, 3.0)), 1);
  EXPECT_EQ(correlation_time_of_median(Samples{1, 2, 3, 4}), 1);
}

TEST(MedianInterval, IsTheRangeOfSixAndWithinItForTen) {
  const auto six = estimate_median(Samples{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(six.median, 3.5);
  EXPECT_EQ(six.ci95.low, 1);
  EXPECT_EQ(six.ci95.high, 6);
  const auto ten = estimate_median(Samples{5, 2, 9, 1, 7, 10, 4, 8, 3, 6});
  // 11 * (0.5 - 2.02 * 1.1 * sqrt(10) / 22) = 1.99: the second smallest, and the second largest.
  EXPECT_NEAR(ten.ci95.low, 1.99, 0.01);
  EXPECT_NEAR(ten.ci95.high, 9.01, 0.01);
}

TEST(MedianInterval, OfOneSampleIsThatSample) {
  const auto estimate = estimate_median(Samples{4});
  EXPECT_EQ(estimate.median, 4);
  EXPECT_EQ(estimate.ci95.low, 4);
  EXPECT_EQ(estimate.ci95.high, 4);
  EXPECT_EQ(estimate_median(Samples{}).median, 0);
}

TEST(MedianInterval, NarrowsWithTheRootOfTheCount) {
  const double few = estimate_median(noisy_series(1000, 0.1, 0, 1)).relative_error;
  const double many = estimate_median(noisy_series(16'000, 0.1, 0, 2)).relative_error;
  EXPECT_NEAR(few / many, 4, 0.6);
}

TEST(MedianInterval, OfTimesThatAreAllZeroIsCertain) {
  EXPECT_EQ(estimate_median(Samples(20, 0.0)).relative_error, 0);
}

TEST(MedianInterval, OfARatioCoversTheTruth) {
  constexpr int kTrials = 2000;
  int covered = 0;
  for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
    auto slower = noisy_series(100, 0.1, 0, 2 * seed);
    for (double& sample : slower) sample *= 1.5;
    const auto interval = ratio_of_medians(slower, noisy_series(60, 0.2, 0, 2 * seed + 1));
    covered += interval.low <= 1.5 && 1.5 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, 0.94 * kTrials);
  EXPECT_LE(covered, 0.98 * kTrials);
}

TEST(PairedShift, IsTheMedianOfPairwiseMeans) {
  // Means of 1, 2, 6 and themselves: 1, 1.5, 2, 3.5, 4, 6.
  EXPECT_EQ(paired_shift(Samples{1, 2, 6}).estimate, 2.75);
}

TEST(PairedShift, LeavesOutAsManyMeansAsTheSignedRankTestAllows) {
  // Six pairs: the smallest rank sum alone has probability 1/64 = 1.6 %, so nothing is left out.
  const auto six = paired_shift(Samples{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(six.ci95.low, 1);
  EXPECT_EQ(six.ci95.high, 6);
  // Seven: sums 0, 1, 2 have 3/128 = 2.3 %, so two are left out at either end: 1 and 1.5.
  EXPECT_EQ(paired_shift(Samples{1, 2, 3, 4, 5, 6, 7}).ci95.low, 2);
  // Ten: sums up to 8 have 25/1024 = 2.44 %, so eight are left out. The means of pairs begin with
  // 1, 5.5, 10, 50.5, 55, 100, 500.5, 505, 550.
  EXPECT_EQ(paired_shift(Samples{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}).ci95.low, 550);
}

TEST(PairedShift, CoversTheTruthForFewAndForManyPairs) {
  for (const std::size_t pairs : {8u, 60u}) {
    int covered = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const auto series = noisy_series(pairs, 1, 0, seed);
      Samples differences;
      for (const double value : series) differences.push_back(std::log(value));
      const auto shift = paired_shift(differences);
      covered += shift.ci95.low <= 0 && 0 <= shift.ci95.high ? 1 : 0;
    }
    EXPECT_GE(covered, 935) << pairs;
    EXPECT_LE(covered, 975) << pairs;
  }
}

}  // namespace
}  // namespace assay
