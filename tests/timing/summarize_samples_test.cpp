#include <gtest/gtest.h>

#include "assay/timing.h"

namespace assay {
namespace {

TEST(SummarizeSamples, SamplesFromElsewhereHaveTheSameSummary) {
  const std::vector<double> samples = {2.0, 2.001, 1.999, 2.0, 2.002, 1.998, 2.0, 2.0};
  const Measurement measured = summarize_samples(samples);
  EXPECT_DOUBLE_EQ(measured.latency.median_ms, 2.0);
  EXPECT_DOUBLE_EQ(measured.latency.max_ms, 2.002);
  EXPECT_EQ(measured.samples_ms, samples);
  EXPECT_EQ(measured.verdict, Verdict::Valid);
}

TEST(SummarizeSamples, AWideIntervalIsNoisyAndOneSampleHasNone) {
  EXPECT_EQ(summarize_samples({1, 2, 1, 2, 3, 1, 2, 4}).verdict, Verdict::Noisy);
  EXPECT_FALSE(summarize_samples({1}).latency.ci95_low_ms.has_value());
}

}  // namespace
}  // namespace assay
