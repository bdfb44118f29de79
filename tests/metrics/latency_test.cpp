#include "assay/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "assay/error.h"
#include "assay/layers.h"

namespace assay {
namespace {

ProgramOptions reference() {
  return {.engine = "reference", .cpu = {.threads = 1}};
}

Tensor input() {
  return Tensor::of_float({1, 16}, std::vector<float>(16, 1.0f));
}

TEST(Latency, IsAPositiveMean) {
  EXPECT_GT(measure_latency(Linear(16, 8), input(), 5, 1, reference()), 0);
}

TEST(Latency, OfNoRunsIsRefused) {
  EXPECT_THROW(measure_latency(Linear(16, 8), input(), 0, 1, reference()), Error);
  EXPECT_THROW(measure_latency_distribution(Linear(16, 8), input(), 0, 5, 1, reference()), Error);
}

TEST(LatencyDistribution, IsOverTheMeansOfTheRepeats) {
  const auto seen = measure_latency_distribution(Linear(16, 8), input(), 3, 4, 1, reference());
  ASSERT_EQ(seen.repeat_means_ms.size(), 3u);
  ASSERT_EQ(seen.samples_ms.size(), 12u);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto first = seen.samples_ms.begin() + static_cast<long>(4 * i);
    EXPECT_NEAR(seen.repeat_means_ms[i], std::accumulate(first, first + 4, 0.0) / 4, 1e-12);
  }
  const auto [low, high] = std::ranges::minmax(seen.repeat_means_ms);
  EXPECT_DOUBLE_EQ(seen.min_ms, low);
  EXPECT_DOUBLE_EQ(seen.max_ms, high);
  EXPECT_LE(seen.ci95_low_ms, seen.mean_ms);
  EXPECT_GE(seen.ci95_high_ms, seen.mean_ms);
  EXPECT_LE(seen.median_ms, seen.p95_ms);
}

TEST(LatencyDistribution, OfASingleRepeatHasNoSpread) {
  const auto seen = measure_latency_distribution(Linear(16, 8), input(), 1, 2, 0, reference());
  EXPECT_DOUBLE_EQ(seen.std_ms, 0);
  EXPECT_DOUBLE_EQ(seen.p95_ms, seen.mean_ms);
}

}  // namespace
}  // namespace assay
