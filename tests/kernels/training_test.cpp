// Losses, the steps of optimizers, and random numbers.
#include <cmath>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

const Tensor kLogits = real_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
const Tensor kTargets = long_tensor({2}, {2, 0});

TEST(LossKernels, LikelihoodPicksTheTargetsScore) {
  expect_near(
      result_of({"NegativeLogLikelihoodLoss", {kLogits, kTargets}, {text("reduction", "none")}}),
      {-3, -4});
  expect_near(result_of({"NegativeLogLikelihoodLoss", {kLogits, kTargets}}), {-3.5});
  expect_near(
      result_of({"NegativeLogLikelihoodLoss", {kLogits, kTargets}, {text("reduction", "sum")}}),
      {-7});
}

TEST(LossKernels, WeightsAndIgnoredTargetsCountInTheMean) {
  const Tensor weights = real_tensor({3}, {0.5f, 1, 2});
  expect_near(result_of({"NegativeLogLikelihoodLoss", {kLogits, kTargets, weights}}),
              {-(2 * 3 + 0.5 * 4) / (2 + 0.5)});
  expect_near(
      result_of({"NegativeLogLikelihoodLoss", {kLogits, kTargets}, {number("ignore_index", 0)}}),
      {-3});
  EXPECT_THROW(result_of({"NegativeLogLikelihoodLoss", {kLogits, long_tensor({2}, {3, 0})}}),
               Error);
  EXPECT_THROW(result_of({"NegativeLogLikelihoodLoss", {kLogits, long_tensor({1}, {0})}}), Error);
}

TEST(LossKernels, CrossEntropyGivesLogarithmsToo) {
  const auto outputs = outputs_of({.op = "SoftmaxCrossEntropyLoss",
                                   .inputs = {real_tensor({1, 2}, {0, 0}), long_tensor({1}, {1})},
                                   .outputs = 2});
  expect_near(outputs[0], {std::log(2.0)});
  expect_near(outputs[1], {-std::log(2.0), -std::log(2.0)});
}

Case step(const char* op, std::int64_t taken, std::vector<float> tensors,
          std::vector<Attribute> attributes, std::size_t outputs) {
  Case test{.op = op,
            .inputs = {real_tensor({}, {0.5f}), long_tensor({}, {taken})},
            .attributes = std::move(attributes),
            .outputs = outputs,
            .domain = "ai.onnx.preview.training"};
  for (const float number : tensors) test.inputs.push_back(real_tensor({1}, {number}));
  return test;
}

TEST(OptimizerKernels, MomentumMovesByItsVelocity) {
  // Weight 1, gradient 2, velocity 4: the new velocity is 0.5·4 + 2 on the first step.
  const std::vector<Attribute> settings = {real_number("alpha", 0.5f), real_number("beta", 0.25f)};
  const auto first = outputs_of(step("Momentum", 0, {1, 2, 4}, settings, 2));
  expect_near(first[0], {1 - 0.5 * 4});
  expect_near(first[1], {4});
  const auto later = outputs_of(step("Momentum", 1, {1, 2, 4}, settings, 2));
  expect_near(later[1], {0.5 * 4 + 0.25 * 2});
}

TEST(OptimizerKernels, AdagradDividesByTheSumOfSquares) {
  const auto outputs = outputs_of(step("Adagrad", 0, {1, 3, 7}, {}, 2));
  expect_near(outputs[1], {7 + 9});
  expect_near(outputs[0], {1 - 0.5 * 3 / 4});
}

TEST(OptimizerKernels, AdamCorrectsItsFirstSteps) {
  const std::vector<Attribute> settings = {real_number("alpha", 0.5f), real_number("beta", 0.75f)};
  const auto outputs = outputs_of(step("Adam", 1, {1, 2, 0, 0}, settings, 3));
  expect_near(outputs[1], {0.5 * 2});
  expect_near(outputs[2], {0.25 * 4});
  // The rate 0.5 becomes 0.5·√0.25 / 0.5.
  expect_near(outputs[0], {1 - 0.5 * 1 / 1});
}

TEST(OptimizerKernels, TensorsComeInEqualGroups) {
  EXPECT_THROW(outputs_of(step("Adam", 0, {1, 2, 3}, {}, 3)), Error);
  EXPECT_THROW(outputs_of(step("Momentum", 0, {}, {}, 2)), Error);
}

TEST(RandomKernels, TheSameSeedDrawsTheSame) {
  const std::vector<Attribute> seeded = {real_number("seed", 3), list("shape", {100})};
  const Tensor first = result_of({"RandomNormal", {}, seeded});
  EXPECT_EQ(result_of({"RandomNormal", {}, seeded}), first);
  EXPECT_NE(result_of({"RandomNormal", {}, {real_number("seed", 4), list("shape", {100})}}), first);
  EXPECT_THROW(result_of({"RandomNormal", {}, {list("shape", {-1})}}), Error);
}

TEST(RandomKernels, DrawsLieWhereTheyShould) {
  const Tensor uniform = result_of({"RandomUniform",
                                    {},
                                    {list("shape", {1000}), real_number("low", 2),
                                     real_number("high", 3), real_number("seed", 1)}});
  double sum = 0;
  for (const double number : uniform.to_double()) {
    EXPECT_TRUE(number >= 2 && number <= 3);
    sum += number;
  }
  EXPECT_NEAR(sum / 1000, 2.5, 0.05);
  const Tensor certain = real_tensor({3}, {0, 1, 0});
  expect_near(result_of({"Bernoulli", {certain}}), {0, 1, 0});
}

TEST(RandomKernels, MultinomialDrawsClassesOfPositiveProbability) {
  const Tensor logarithms = real_tensor({2, 3}, {-1000, 0, -1000, 0, -1000, -1000});
  const Tensor drawn = result_of({"Multinomial", {logarithms}, {number("sample_size", 4)}});
  EXPECT_EQ(drawn.to_int64(), (Sizes{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(drawn.dims(), (Sizes{2, 4}));
}

}  // namespace
}  // namespace assay
