// Drift, changes of level, second modes and bursts.
#include <gtest/gtest.h>

#include "stats/bimodality.h"
#include "stats/bursts.h"
#include "stats/order_statistics.h"
#include "stats/series.h"
#include "stats/steadiness.h"

namespace assay {

using namespace assay::stats;

namespace {

using assay::testing::noisy_series;
using Series = std::vector<double>;

Series evenly_spaced(std::size_t count) {
  Series samples(count);
  for (std::size_t i = 0; i < count; ++i) samples[i] = static_cast<double>(i);
  return samples;
}

TEST(Dip, OfEvenlySpacedSamplesIsTheSmallestPossible) {
  EXPECT_DOUBLE_EQ(dip(evenly_spaced(100)), 1.0 / 200);
  EXPECT_EQ(dip(Series{}), 0);
  EXPECT_DOUBLE_EQ(dip(Series{4}), 0.5);
}

TEST(Dip, OfTwoFarClustersIsAQuarter) {
  EXPECT_DOUBLE_EQ(dip(Series{1, 1, 1, 1, 2, 2, 2, 2}), 0.25);
  // Of a cluster of 25 % beside one of 75 %: half of the smaller.
  Series uneven(75, 1.0);
  uneven.resize(100, 2.0);
  EXPECT_NEAR(dip(uneven), 0.125, 1e-9);
}

TEST(Dip, DoesNotDependOnScaleOrOrigin) {
  auto samples = sorted(noisy_series(200, 0.5, 0, 3));
  const double before = dip(samples);
  for (double& sample : samples) sample = 7 * sample - 3;
  EXPECT_NEAR(dip(samples), before, 1e-12);
}

TEST(Dip, OfUniformSamplesHasTheKnownCriticalValue) {
  // Hartigan and Hartigan, table 1: 5 % of uniform samples of 200 exceed 0.0373.
  Random random(1);
  int exceeding = 0;
  for (int i = 0; i < 1000; ++i) {
    Series samples(200);
    for (double& sample : samples) sample = random.uniform();
    exceeding += dip(sorted(samples)) > 0.0373 ? 1 : 0;
  }
  EXPECT_NEAR(exceeding, 50, 20);
}

TEST(Modes, AreFoundWithTheirShares) {
  auto samples = noisy_series(400, 0.01, 0, 1);
  for (std::size_t i = 0; i < 100; ++i) samples[4 * i] *= 1.2;
  const auto modes = find_modes(samples);
  EXPECT_TRUE(modes.bimodal);
  EXPECT_NEAR(modes.lower, 1.0, 0.005);
  EXPECT_NEAR(modes.upper, 1.2, 0.005);
  EXPECT_NEAR(modes.upper_share, 0.25, 0.03);
}

TEST(Modes, AreNotSeenInSkewSpikesOrTicks) {
  EXPECT_FALSE(find_modes(noisy_series(2000, 0.5, 0, 1)).bimodal);
  auto spiky = noisy_series(2000, 0.05, 0, 2);
  for (std::size_t i = 0; i < spiky.size(); i += 25) spiky[i] *= 5;
  EXPECT_FALSE(find_modes(spiky).bimodal);
  // Two neighbouring ticks of a clock, 0.1 % apart.
  Series ticks(300);
  for (std::size_t i = 0; i < ticks.size(); ++i) ticks[i] = i % 3 == 0 ? 1.000 : 1.001;
  EXPECT_FALSE(find_modes(ticks).bimodal);
  EXPECT_FALSE(find_modes(Series(100, 1.0)).bimodal);
}

TEST(SteadinessOf, ALineIsADriftOfItsHeight) {
  auto samples = noisy_series(300, 0.02, 0, 1);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] *= 1 + 0.1 * static_cast<double>(i) / 300;
  }
  const auto test = test_steadiness(samples);
  EXPECT_EQ(test.found, Steadiness::Drift);
  EXPECT_NEAR(test.relative_change, 0.1, 0.015);
}

TEST(SteadinessOf, AStepIsAChangeOfLevelWhereItHappens) {
  auto samples = noisy_series(300, 0.02, 0, 1);
  for (std::size_t i = 120; i < samples.size(); ++i) samples[i] *= 0.9;
  const auto test = test_steadiness(samples);
  EXPECT_EQ(test.found, Steadiness::LevelChange);
  EXPECT_NEAR(static_cast<double>(test.position), 120, 3);
  EXPECT_NEAR(test.relative_change, -0.1, 0.01);
}

TEST(SteadinessOf, ASmallOrUnprovenChangeIsSteady) {
  auto samples = noisy_series(10'000, 0.01, 0, 1);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] *= 1 + 0.005 * static_cast<double>(i) / 10'000;  // real, but 0.5 % only
  }
  EXPECT_EQ(test_steadiness(samples).found, Steadiness::Steady);
  EXPECT_EQ(test_steadiness(samples, 0.001).found, Steadiness::Drift);
  EXPECT_EQ(test_steadiness(Series(100, 1.0)).found, Steadiness::Steady);
  EXPECT_EQ(test_steadiness(evenly_spaced(10)).found, Steadiness::Steady) << "too few to tell";
}

TEST(SteadinessOf, OutliersNeitherHideNorFeignADrift) {
  auto samples = noisy_series(300, 0.02, 0, 1);
  samples[299] = 1000;
  samples[298] = 1000;
  EXPECT_EQ(test_steadiness(samples).found, Steadiness::Steady);
}

TEST(Bursts, AreStretchesOfSlowSamples) {
  auto samples = noisy_series(200, 0.02, 0, 1);
  for (const std::size_t first : {20, 100}) {
    for (std::size_t i = first; i < first + 10; ++i) samples[i] *= 2;
  }
  EXPECT_EQ(find_bursts(samples).count, 2);
  EXPECT_DOUBLE_EQ(find_bursts(samples).share, 0.1);
}

TEST(Bursts, AreNotSingleSlowSamplesNorNoise) {
  auto samples = noisy_series(200, 0.02, 0, 1);
  for (std::size_t i = 0; i < samples.size(); i += 10) samples[i] *= 2;
  EXPECT_EQ(find_bursts(samples).count, 0);
  EXPECT_EQ(find_bursts(noisy_series(2000, 0.05, 0.9, 1)).count, 0);
  EXPECT_EQ(find_bursts(Series{}).count, 0);
  EXPECT_EQ(find_bursts(Series(100, 1.0)).count, 0);
}

}  // namespace
}  // namespace assay
