// Gradients of RNN, GRU and LSTM against central differences.
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/differentiate.h"
#include "assay/infer.h"
#include "recurrent_setting.h"

namespace assay {
namespace {

double error_of(const RecurrentSetting& setting) {
  return worst_error(recurrent_case(setting));
}

class RecurrentGradient : public testing::TestWithParam<const char*> {
 protected:
  RecurrentSetting setting() const { return {.op = GetParam()}; }
};

TEST_P(RecurrentGradient, IsItsSlopeInAllDirections) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    for (const bool has_lengths : {false, true}) {
      RecurrentSetting one = setting();
      one.direction = direction;
      one.has_lengths = has_lengths;
      EXPECT_LT(error_of(one), 1e-7) << direction << " " << has_lengths;
    }
  }
}

TEST_P(RecurrentGradient, IsItsSlopeWithoutBiasAndInitialStates) {
  RecurrentSetting one = setting();
  one.has_bias = false;
  one.has_states = false;
  EXPECT_LT(error_of(one), 1e-7);
}

TEST_P(RecurrentGradient, IsItsSlopeWhicheverResultIsRead) {
  for (const std::size_t result : {0u, 1u}) {
    RecurrentSetting one = setting();
    one.results = {result};
    EXPECT_LT(error_of(one), 1e-7) << result;
  }
}

TEST_P(RecurrentGradient, IsItsSlopeWithTheBatchFirst) {
  RecurrentSetting one = setting();
  one.direction = "bidirectional";
  one.attributes = {{"layout", std::int64_t{1}}};
  EXPECT_LT(error_of(one), 1e-7);
}

TEST_P(RecurrentGradient, IsItsSlopeWhereInputsOfActivationsAreClipped) {
  RecurrentSetting one = setting();
  one.attributes = {{"clip", 0.4f}};
  EXPECT_LT(error_of(one), 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Ops, RecurrentGradient, testing::Values("RNN", "GRU", "LSTM"));

TEST(RnnGradient, OfEveryActivationIsItsSlope) {
  for (const char* name : {"Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "LeakyRelu",
                           "ThresholdedRelu", "Elu", "Affine", "ScaledTanh", "HardSigmoid"}) {
    RecurrentSetting one{.op = "RNN", .direction = "reverse"};
    one.attributes = {{"activations", std::vector<std::string>{name}},
                      {"activation_alpha", std::vector<float>{0.3f}},
                      {"activation_beta", std::vector<float>{0.6f}}};
    EXPECT_LT(error_of(one), 1e-7) << name;
  }
}

TEST(LstmGradient, OfPeepholesAndOneGateForTwoIsItsSlope) {
  for (const std::int64_t is_coupled : {0, 1}) {
    RecurrentSetting one{.direction = "bidirectional", .has_peepholes = true, .has_lengths = true};
    one.attributes = {{"input_forget", is_coupled}};
    EXPECT_LT(error_of(one), 1e-7) << is_coupled;
  }
}

TEST(LstmGradient, OfTheLastCellStateAloneIsItsSlope) {
  EXPECT_LT(error_of({.has_peepholes = true, .results = {2}}), 1e-7);
}

TEST(GruGradient, WithTheResetBehindTheRecurrenceIsItsSlope) {
  RecurrentSetting one{.op = "GRU", .direction = "bidirectional"};
  one.attributes = {{"linear_before_reset", std::int64_t{1}}};
  EXPECT_LT(error_of(one), 1e-7);
}

TEST(LstmGradient, HasOnlyTheResultsThatAreAskedFor) {
  const Scene scene = scene_of(recurrent_case({.has_states = false}));
  const Inferred inferred = infer_shapes(scene.graph);
  const std::vector<ValueId> by = {inferred.graph.inputs()[1]};
  const Differentiated both = differentiate(inferred, scene.loss, by);
  const auto found = std::ranges::find(both.graph.nodes(), "LstmGradient", &Node::op);
  ASSERT_NE(found, both.graph.nodes().end());
  for (std::size_t i = 0; i < found->outputs.size(); ++i) EXPECT_EQ(found->has_output(i), i == 1);
}

}  // namespace
}  // namespace assay
