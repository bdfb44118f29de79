// Normalisations and the softmax family.
#include <cmath>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

TEST(BatchNormalization, UsesStoredStatistics) {
  const Tensor input = real_tensor({1, 2, 2}, {1, 3, 10, 20});
  const Case test = {"BatchNormalization",
                     {input, real_tensor({2}, {2, 1}), real_tensor({2}, {100, 0}),
                      real_tensor({2}, {1, 10}), real_tensor({2}, {4, 25})},
                     {real_number("epsilon", 0)}};
  // (x - 1) / 2 · 2 + 100 and (x - 10) / 5
  EXPECT_EQ(result_of(test).to_double(), (Numbers{100, 102, 0, 2}));
}

TEST(BatchNormalization, TrainingUsesTheBatchAndUpdatesTheRest) {
  const Tensor one = real_tensor({1}, {1});
  const Tensor zero = real_tensor({1}, {0});
  const auto outputs = outputs_of(
      {"BatchNormalization",
       {real_tensor({2, 1}, {1, 5}), one, zero, one, one},
       {real_number("epsilon", 0), real_number("momentum", 0.75f), number("training_mode", 1)},
       15,
       3});
  // The batch has mean 3 and variance 4.
  EXPECT_EQ(outputs[0].to_double(), (Numbers{-1, 1}));
  EXPECT_EQ(outputs[1].to_double(), (Numbers{0.75 * 1 + 0.25 * 3}));
  EXPECT_EQ(outputs[2].to_double(), (Numbers{0.75 * 1 + 0.25 * 4}));
}

TEST(BatchNormalization, RefusesParametersOfAnotherCount) {
  const Tensor one = real_tensor({1}, {1});
  const Tensor input = real_tensor({1, 2}, {1, 2});
  EXPECT_THROW(result_of({"BatchNormalization", {input, one, one, one, one}}), Error);
}

TEST(InstanceNormalization, NormalisesEveryPlane) {
  const Tensor input = real_tensor({1, 2, 2}, {1, 5, 10, 30});
  const Case test = {"InstanceNormalization",
                     {input, real_tensor({2}, {1, 10}), real_tensor({2}, {0, 7})},
                     {real_number("epsilon", 0)}};
  EXPECT_EQ(result_of(test).to_double(), (Numbers{-1, 1, -3, 17}));
}

TEST(LayerNormalization, GivesMeanAndInverseDeviation) {
  const Tensor input = real_tensor({2, 2}, {1, 5, 10, 30});
  const auto outputs = outputs_of({"LayerNormalization",
                                   {input, real_tensor({2}, {1, 2}), real_tensor({2}, {0, 100})},
                                   {real_number("epsilon", 0)},
                                   17,
                                   3});
  EXPECT_EQ(outputs[0].to_double(), (Numbers{-1, 102, -1, 102}));
  EXPECT_EQ(outputs[1].to_double(), (Numbers{3, 20}));
  expect_near(outputs[2], {1 / 2.0, 1 / 10.0});
  EXPECT_EQ(outputs[1].dims(), (Sizes{2, 1}));
  EXPECT_THROW(result_of({"LayerNormalization", {input, real_tensor({3}, {1, 2, 3})}}), Error);
  EXPECT_THROW(result_of({"LayerNormalization", {input, input}, {number("axis", 2)}}), Error);
}

TEST(LayerNormalization, SimplifiedKeepsTheMean) {
  const Tensor input = real_tensor({1, 2}, {1, 7});
  const Case test = {"SimplifiedLayerNormalization",
                     {input, real_tensor({2}, {5, 10})},
                     {real_number("epsilon", 0)}};
  // The mean square is 25.
  expect_near(result_of(test), {1, 14});
}

TEST(GroupNormalization, HasParametersByGroupAndThenByChannel) {
  const Tensor input = real_tensor({1, 2, 2}, {1, 5, 1, 5});
  const std::vector<Attribute> settings = {number("num_groups", 1), real_number("epsilon", 0)};
  const Tensor one = real_tensor({1}, {10});
  EXPECT_EQ(result_of({"GroupNormalization", {input, one, one}, settings, 18}).to_double(),
            (Numbers{0, 20, 0, 20}));
  const Tensor two = real_tensor({2}, {10, 1});
  EXPECT_EQ(result_of({"GroupNormalization", {input, two, two}, settings, 21}).to_double(),
            (Numbers{0, 20, 0, 2}));
  EXPECT_THROW(result_of({"GroupNormalization", {input, two, two}, {number("num_groups", 0)}, 21}),
               Error);
}

TEST(Norms, DivideByTheirLane) {
  const Tensor input = real_tensor({2, 2}, {3, 4, 0, 0});
  expect_near(result_of({"LpNormalization", {input}}), {0.6, 0.8, 0, 0});
  expect_near(result_of({"LpNormalization", {input}, {number("p", 1), number("axis", 0)}}),
              {1, 1, 0, 0});
  EXPECT_THROW(result_of({"LpNormalization", {input}, {number("p", 3)}}), Error);
}

TEST(Norms, MeanAndVarianceOverAnyAxes) {
  const Tensor input = real_tensor({2, 2}, {1, 10, 5, 30});
  expect_near(result_of({"MeanVarianceNormalization", {input}, {list("axes", {0})}}),
              {-1, -1, 1, 1});
}

TEST(Norms, LocalResponseSumsNeighbouringChannels) {
  const Tensor input = real_tensor({1, 3}, {1, 2, 3});
  const Case test = {
      "LRN",
      {input},
      {number("size", 2), real_number("alpha", 2), real_number("beta", 1), real_number("bias", 1)}};
  // Two channels: itself and the one behind.
  expect_near(result_of(test), {1 / (1.0 + 1 + 4), 2 / (1.0 + 4 + 9), 3 / (1.0 + 9)});
  EXPECT_THROW(result_of({"LRN", {input}}), Error);
  const Case vast = {"LRN", {input}, {number("size", INT64_MAX)}};
  EXPECT_EQ(result_of(vast).dims(), (Sizes{1, 3}));
}

TEST(Softmax, FlattensBeforeOpset13) {
  const Tensor zeros = real_tensor({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(result_of({"Softmax", {zeros}, {}, 12}).to_double(), Numbers(4, 0.25));
  EXPECT_EQ(result_of({"Softmax", {zeros}, {}, 13}).to_double(), Numbers(4, 0.5));
  const Tensor pair = real_tensor({2}, {0, std::log(3.0f)});
  expect_near(result_of({"Softmax", {pair}}), {0.25, 0.75});
  expect_near(result_of({"LogSoftmax", {pair}}), {std::log(0.25), std::log(0.75)});
  EXPECT_THROW(result_of({"Softmax", {pair}, {number("axis", 1)}}), Error);
}

TEST(Softmax, LargeNumbersDoNotOverflow) {
  const Tensor large = real_tensor({2}, {1e30f, 1e30f});
  EXPECT_EQ(result_of({"Softmax", {large}}).to_double(), (Numbers{0.5, 0.5}));
}

TEST(Softmax, HardmaxMarksTheFirstGreatest) {
  const Tensor input = real_tensor({2, 2}, {1, 1, 0, 3});
  EXPECT_EQ(result_of({"Hardmax", {input}}).to_double(), (Numbers{1, 0, 0, 1}));
}

}  // namespace
}  // namespace assay
