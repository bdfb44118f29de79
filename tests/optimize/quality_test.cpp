#include "optimize/quality.h"

#include <gtest/gtest.h>

#include <cmath>

#include "assay/zoo.h"

namespace assay::optimize {
namespace {

using Decisions = std::vector<std::int64_t>;

TEST(Quality, ADecisionIsTheLargestScoreOfARow) {
  EXPECT_EQ(decisions_of(Tensor::of_float({2, 3}, {1, 5, 2, 9, 0, 3})), (Decisions{1, 0}));
  // Of tokens, along the last axis.
  EXPECT_EQ(decisions_of(Tensor::of_float({1, 2, 2}, {1, 2, 4, 3})), (Decisions{1, 0}));
  // Of images, along the channels: pixel 0 has 1 and 4, pixel 1 has 3 and 2.
  EXPECT_EQ(decisions_of(Tensor::of_float({1, 2, 1, 2}, {1, 3, 4, 2})), (Decisions{1, 0}));
  EXPECT_EQ(decisions_of(Tensor::of_float({}, {7})), (Decisions{0}));
}

TEST(Quality, SignalToNoiseIsARatioOfSquaresInDecibels) {
  SignalToNoise noise;
  noise.add(std::vector<double>{10, 0}, std::vector<double>{9, 0});
  EXPECT_DOUBLE_EQ(*noise.decibels(), 10 * std::log10(100.0 / 1.0));
  SignalToNoise equal;
  equal.add(std::vector<double>{1, 2}, std::vector<double>{1, 2});
  EXPECT_EQ(equal.decibels(), std::nullopt);
  SignalToNoise broken;  // a number that is not finite is as wrong as nothing at all
  broken.add(std::vector<double>{2, 2}, std::vector<double>{2, std::nan("")});
  EXPECT_DOUBLE_EQ(*broken.decibels(), 10 * std::log10(8.0 / 4.0));
}

TEST(Quality, TheOriginalAgreesWithItselfAlsoInALastBatchThatIsNotFull) {
  const Graph model = zoo_model("small_cnn");
  const Dataset data = load_dataset("synthetic", {.split = Split::Test, .size = 10});
  OptimizeData judged_on;
  judged_on.labelled.emplace(data, LoaderOptions{.batch_size = 4, .shuffle = false});
  const QualityJudge judge(model, judged_on, {}, nullptr);
  const VariantQuality quality = judge.judge(model, nullptr);
  EXPECT_EQ(quality.samples, 10);
  EXPECT_EQ(quality.decisions, 10);
  EXPECT_EQ(quality.agreement, 1);
  EXPECT_EQ(quality.snr_db, std::nullopt);
  ASSERT_TRUE(quality.accuracy);
  EXPECT_EQ(quality.accuracy->value, evaluate_accuracy(model, *judged_on.labelled));
}

}  // namespace
}  // namespace assay::optimize
