// Dropout at inference, in training by a seed, and in steps.
#include <cmath>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

const Tensor kYes = whole_tensor<std::uint8_t>(DataType::Bool, {}, {1});
const Tensor kHalf = real_tensor({}, {0.5f});

Tensor row_of(const std::vector<float>& values) {
  return real_tensor({static_cast<std::int64_t>(values.size())}, values);
}

TEST(Dropout, KeepsEverythingAndSaysSo) {
  const Tensor input = row_of({1, 2});
  const auto outputs = outputs_of({"Dropout", {input}, {}, 13, 2});
  EXPECT_EQ(outputs[0], input);
  EXPECT_EQ(outputs[1].type(), DataType::Bool);
  EXPECT_EQ(outputs[1].to_int64(), (Sizes{1, 1}));
}

TEST(Dropout, TrainingIsRandomUnlessNothingIsDropped) {
  const Tensor input = row_of({1, 2});
  EXPECT_EQ(result_of({"Dropout", {input, real_tensor({}, {0}), kYes}}), input);
  EXPECT_THROW(result_of({"Dropout", {input, kHalf, kYes}}), Error);
}

TEST(Dropout, TrainingWithASeedDropsTheSameElementsEveryTime) {
  const Tensor input = row_of(std::vector<float>(1000, 3));
  const Case one{"Dropout", {input, kHalf, kYes}, {number("seed", 5)}, 17, 2};
  const auto outputs = outputs_of(one);
  EXPECT_EQ(outputs_of(one)[0], outputs[0]);
  const auto values = outputs[0].to_double();
  const auto kept = outputs[1].to_int64();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], kept[i] != 0 ? 6.0 : 0.0);
  const Case other{"Dropout", {input, kHalf, kYes}, {number("seed", 6)}};
  EXPECT_NE(result_of(other), outputs[0]);
}

Case stepwise(std::int64_t step, std::int64_t seed = 1, float ratio = 0.25f,
              std::int64_t elements = 10000) {
  const Tensor ones = real_tensor({elements}, std::vector<float>(elements, 1));
  return {"Dropout",
          {ones, long_tensor({}, {step})},
          {number("seed", seed), real_number("ratio", ratio)},
          1,
          2,
          "assay"};
}

TEST(StepwiseDropout, DropsItsRatioAndKeepsTheSum) {
  double sum = 0;
  for (const double value : result_of(stepwise(3)).to_double()) {
    EXPECT_TRUE(value == 0 || std::abs(value - 4.0 / 3) < 1e-6);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 1, 0.03);  // five standard deviations are 0.029
}

TEST(StepwiseDropout, DropsOtherElementsInEveryStepAndForEverySeed) {
  const Tensor first = result_of(stepwise(3));
  EXPECT_EQ(result_of(stepwise(3)), first);
  EXPECT_NE(result_of(stepwise(4)), first);
  EXPECT_NE(result_of(stepwise(3, 2)), first);
}

// Pinned: masks may not change with the machine or the version.
TEST(StepwiseDropout, FollowsFromSeedStepAndPlaceAlone) {
  EXPECT_EQ(outputs_of(stepwise(7, 42, 0.5f, 16))[1].to_int64(),
            (Sizes{0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(StepwiseDropout, RefusesWhatIsNoRatioAndNoStep) {
  for (const float ratio : {-0.1f, 1.0f, std::nanf("")})
    EXPECT_THROW(result_of(stepwise(0, 0, ratio)), Error);
  Case two_steps = stepwise(0);
  two_steps.inputs[1] = long_tensor({2}, {0, 1});
  EXPECT_THROW(result_of(two_steps), Error);
  two_steps.inputs.pop_back();
  EXPECT_THROW(result_of(two_steps), Error);
}

}  // namespace
}  // namespace assay
