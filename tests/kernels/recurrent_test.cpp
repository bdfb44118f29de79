// RNN, GRU and LSTM with one feature and one unit, where a step fits on a line.
#include <cmath>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

double sigma(double x) {
  return 1 / (1 + std::exp(-x));
}

const Tensor kTwoSteps = real_tensor({2, 1, 1}, {1, 2});
const Attribute kOneUnit = number("hidden_size", 1);
const Attribute kAffine = {"activations", std::vector<std::string>{"Affine"}};

Tensor weights(const std::vector<float>& values) {
  return real_tensor({1, static_cast<std::int64_t>(values.size()), 1}, values);
}

TEST(Rnn, AddsInputStateAndBiases) {
  const Tensor bias = real_tensor({1, 2}, {0.25f, 0.5f});
  const auto outputs =
      outputs_of({"RNN", {kTwoSteps, weights({0.5f}), weights({2}), bias}, {kOneUnit}, 14, 2});
  const double first = std::tanh(0.5 * 1 + 0.75);
  const double second = std::tanh(0.5 * 2 + 2 * first + 0.75);
  EXPECT_EQ(outputs[0].dims(), (Sizes{2, 1, 1, 1}));
  expect_near(outputs[0], {first, second});
  expect_near(outputs[1], {second});
}

TEST(Rnn, ReverseStartsAtTheEndOfEverySequence) {
  const Tensor batch = real_tensor({2, 2, 1}, {1, 10, 2, 20});  // sequences (1, 2) and (10, ·)
  const Tensor lengths = whole_tensor<std::int32_t>(DataType::Int32, {2}, {2, 1});
  const auto outputs = outputs_of({"RNN",
                                   {batch, weights({1}), weights({100}), Tensor(), lengths},
                                   {kOneUnit, kAffine, text("direction", "reverse")},
                                   14,
                                   2});
  // The first sequence runs 2, then 1 + 100 · 2; the second has one step, and zero behind it.
  expect_near(outputs[0], {201, 10, 2, 0});
  expect_near(outputs[1], {201, 10});
}

TEST(Rnn, BothDirectionsStandBesideEachOther) {
  const Tensor weight = real_tensor({2, 1, 1}, {1, 1});
  const Tensor recurrence = real_tensor({2, 1, 1}, {10, 10});
  const Case test = {"RNN",
                     {kTwoSteps, weight, recurrence},
                     {kOneUnit,
                      {"activations", std::vector<std::string>{"Affine", "Affine"}},
                      text("direction", "bidirectional")},
                     14,
                     2};
  EXPECT_EQ(outputs_of(test)[0].dims(), (Sizes{2, 2, 1, 1}));
  expect_near(outputs_of(test)[0], {1, 1 + 10 * 2, 2 + 10 * 1, 2});
}

TEST(Rnn, LayoutPutsTheBatchFirst) {
  const Tensor input = real_tensor({1, 2, 1}, {1, 2});
  const auto outputs = outputs_of({"RNN",
                                   {input, weights({1}), weights({10})},
                                   {kOneUnit, kAffine, number("layout", 1)},
                                   14,
                                   2});
  EXPECT_EQ(outputs[0].dims(), (Sizes{1, 2, 1, 1}));
  expect_near(outputs[0], {1, 12});
}

TEST(Rnn, ActivationsTakeAlphaAndBetaInOrder) {
  const Case test = {"RNN",
                     {kTwoSteps, weights({1}), weights({0})},
                     {kOneUnit, kAffine, Attribute{"activation_alpha", std::vector<float>{3}},
                      Attribute{"activation_beta", std::vector<float>{7}}}};
  expect_near(result_of(test), {3 * 1 + 7, 3 * 2 + 7});
}

TEST(Rnn, ClipBoundsTheInputOfActivations) {
  const Case test = {"RNN",
                     {kTwoSteps, weights({1}), weights({0})},
                     {kOneUnit, kAffine, real_number("clip", 1.5f)}};
  expect_near(result_of(test), {1, 1.5});
}

TEST(Gru, ResetsBeforeOrBehindTheRecurrence) {
  const Tensor input = real_tensor({1, 1, 1}, {1});
  const Tensor state = real_tensor({1, 1, 1}, {0.5f});
  const Tensor bias = real_tensor({1, 6}, {0, 0, 0, 0, 0, 0.25f});  // on the recurrence of h
  for (const std::int64_t behind : {0, 1}) {
    const auto outputs =
        outputs_of({"GRU",
                    {input, weights({0.1f, 0.2f, 0.3f}), weights({1, 2, 3}), bias, Tensor(), state},
                    {kOneUnit, number("linear_before_reset", behind)},
                    14,
                    2});
    const double update = sigma(0.1 + 1 * 0.5);
    const double reset = sigma(0.2 + 2 * 0.5);
    const double recurrent = behind == 0 ? 3 * (reset * 0.5) + 0.25 : reset * (3 * 0.5 + 0.25);
    const double candidate = std::tanh(0.3 + recurrent);
    expect_near(outputs[1], {(1 - update) * candidate + update * 0.5});
  }
}

TEST(Lstm, KeepsACellAndPeepsIntoIt) {
  const Tensor input = real_tensor({1, 1, 1}, {1});
  const Tensor none = real_tensor({1, 4, 1}, {0, 0, 0, 0});
  const Tensor cell = real_tensor({1, 1, 1}, {2});
  const Tensor peepholes = real_tensor({1, 3}, {0.1f, 0.2f, 0.3f});  // input, output, forget
  const auto outputs = outputs_of({"LSTM",
                                   {input, weights({0.5f, 0.6f, 0.7f, 0.8f}), none, Tensor(),
                                    Tensor(), real_tensor({1, 1, 1}, {0}), cell, peepholes},
                                   {kOneUnit},
                                   14,
                                   3});
  const double in = sigma(0.5 + 0.1 * 2);
  const double forget = sigma(0.7 + 0.3 * 2);
  const double next = forget * 2 + in * std::tanh(0.8);
  const double out = sigma(0.6 + 0.2 * next);
  expect_near(outputs[1], {out * std::tanh(next)});
  expect_near(outputs[2], {next});
}

TEST(Lstm, CoupledGatesForgetWhatTheyDoNotTake) {
  const Tensor input = real_tensor({1, 1, 1}, {1});
  const Tensor none = real_tensor({1, 4, 1}, {0, 0, 0, 0});
  const auto outputs = outputs_of({"LSTM",
                                   {input, weights({0.5f, 0, 9, 0.8f}), none, Tensor(), Tensor(),
                                    Tensor(), real_tensor({1, 1, 1}, {2})},
                                   {kOneUnit, number("input_forget", 1)},
                                   14,
                                   3});
  const double in = sigma(0.5);
  expect_near(outputs[2], {(1 - in) * 2 + in * std::tanh(0.8)});
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const Tensor one = weights({1});
  EXPECT_THROW(result_of({"RNN", {kTwoSteps, one, one}, {number("hidden_size", 2)}}), Error);
  EXPECT_THROW(result_of({"GRU", {kTwoSteps, one, one}, {kOneUnit}}), Error);
  EXPECT_THROW(result_of({"RNN", {kTwoSteps, one, one}, {text("direction", "sideways")}}), Error);
  const Attribute unknown = {"activations", std::vector<std::string>{"Wavy"}};
  EXPECT_THROW(result_of({"RNN", {kTwoSteps, one, one}, {unknown}}), Error);
  const Tensor lengths = whole_tensor<std::int32_t>(DataType::Int32, {1}, {3});
  EXPECT_THROW(result_of({"RNN", {kTwoSteps, one, one, Tensor(), lengths}}), Error);
  const Tensor bias = real_tensor({1, 1}, {1});
  EXPECT_THROW(result_of({"RNN", {kTwoSteps, one, one, bias}}), Error);
}

}  // namespace
}  // namespace assay
