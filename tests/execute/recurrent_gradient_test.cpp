// Gradients of RNN, GRU and LSTM against central differences.
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/differentiate.h"
#include "assay/infer.h"
#include "gradient_check.h"

namespace assay {
namespace {

constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kFeatures = 3;
constexpr std::int64_t kHidden = 2;

struct Setting {
  std::string op = "LSTM";
  std::string direction = "forward";
  bool has_bias = true;
  bool has_states = true;
  bool has_peepholes = false;
  bool has_lengths = false;
  std::vector<std::size_t> results = {0, 1, 2};  // of those that the loss reads
  std::vector<Attribute> attributes = {};

  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  std::int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
  bool is_batch_first() const {
    for (const Attribute& attribute : attributes) {
      if (attribute.name == "layout") return true;
    }
    return false;
  }
};

Shape state_shape(const Setting& setting) {
  const std::int64_t directions = setting.directions();
  return setting.is_batch_first() ? Shape{kBatch, directions, kHidden}
                                  : Shape{directions, kBatch, kHidden};
}

// The shapes of the inputs that are differentiated by, and their places among the op's.
std::vector<std::pair<std::size_t, Shape>> operands_of(const Setting& setting) {
  const std::int64_t directions = setting.directions();
  const std::int64_t rows = setting.gates() * kHidden;
  std::vector<std::pair<std::size_t, Shape>> operands = {
      {0, setting.is_batch_first() ? Shape{kBatch, kSteps, kFeatures}
                                   : Shape{kSteps, kBatch, kFeatures}},
      {1, Shape{directions, rows, kFeatures}},
      {2, Shape{directions, rows, kHidden}}};
  if (setting.has_bias) operands.push_back({3, Shape{directions, 2 * rows}});
  if (setting.has_states) operands.push_back({5, state_shape(setting)});
  if (setting.has_states && setting.op == "LSTM") operands.push_back({6, state_shape(setting)});
  if (setting.has_peepholes) operands.push_back({7, Shape{directions, 3 * kHidden}});
  return operands;
}

ValueId built(const Setting& setting, GraphBuilder& builder, const std::vector<ValueId>& given) {
  std::vector<ValueId> inputs(setting.op == "LSTM" ? 8 : 6);
  const auto operands = operands_of(setting);
  for (std::size_t i = 0; i < operands.size(); ++i) inputs[operands[i].first] = given[i];
  const std::vector<std::int32_t> lengths = {2, kSteps};
  if (setting.has_lengths) {
    inputs[4] =
        builder.constant("lengths", Tensor::of<std::int32_t>(DataType::Int32, {kBatch}, lengths));
  }
  std::vector<Attribute> attributes = setting.attributes;
  attributes.push_back({"direction", setting.direction});
  attributes.push_back({"hidden_size", kHidden});
  const auto results =
      builder.node_with_outputs(setting.op, "op", inputs, setting.op == "LSTM" ? 3 : 2, attributes);
  std::vector<ValueId> flat;
  for (const std::size_t i : setting.results) {
    if (i < results.size())
      flat.push_back(builder.node("Reshape", "flat", {results[i], builder.ints("all", {-1})}));
  }
  return builder.node("Concat", "joined", flat, {{"axis", std::int64_t{0}}});
}

double error_of(const Setting& setting) {
  Case one{.name = setting.op + " " + setting.direction};
  for (const auto& [place, shape] : operands_of(setting)) one.inputs.push_back(shape);
  one.build = [&](GraphBuilder& builder, const std::vector<ValueId>& given) {
    return built(setting, builder, given);
  };
  return worst_error(one);
}

class RecurrentGradient : public testing::TestWithParam<const char*> {
 protected:
  Setting setting() const { return {.op = GetParam()}; }
};

TEST_P(RecurrentGradient, IsItsSlopeInAllDirections) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    for (const bool has_lengths : {false, true}) {
      Setting one = setting();
      one.direction = direction;
      one.has_lengths = has_lengths;
      EXPECT_LT(error_of(one), 1e-7) << direction << " " << has_lengths;
    }
  }
}

TEST_P(RecurrentGradient, IsItsSlopeWithoutBiasAndInitialStates) {
  Setting one = setting();
  one.has_bias = false;
  one.has_states = false;
  EXPECT_LT(error_of(one), 1e-7);
}

TEST_P(RecurrentGradient, IsItsSlopeWhicheverResultIsRead) {
  for (const std::size_t result : {0u, 1u}) {
    Setting one = setting();
    one.results = {result};
    EXPECT_LT(error_of(one), 1e-7) << result;
  }
}

TEST_P(RecurrentGradient, IsItsSlopeWithTheBatchFirst) {
  Setting one = setting();
  one.direction = "bidirectional";
  one.attributes = {{"layout", std::int64_t{1}}};
  EXPECT_LT(error_of(one), 1e-7);
}

TEST_P(RecurrentGradient, IsItsSlopeWhereInputsOfActivationsAreClipped) {
  Setting one = setting();
  one.attributes = {{"clip", 0.4f}};
  EXPECT_LT(error_of(one), 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Ops, RecurrentGradient, testing::Values("RNN", "GRU", "LSTM"));

TEST(RnnGradient, OfEveryActivationIsItsSlope) {
  for (const char* name : {"Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "LeakyRelu",
                           "ThresholdedRelu", "Elu", "Affine", "ScaledTanh", "HardSigmoid"}) {
    Setting one{.op = "RNN", .direction = "reverse"};
    one.attributes = {{"activations", std::vector<std::string>{name}},
                      {"activation_alpha", std::vector<float>{0.3f}},
                      {"activation_beta", std::vector<float>{0.6f}}};
    EXPECT_LT(error_of(one), 1e-7) << name;
  }
}

TEST(LstmGradient, OfPeepholesAndOneGateForTwoIsItsSlope) {
  for (const std::int64_t is_coupled : {0, 1}) {
    Setting one{.direction = "bidirectional", .has_peepholes = true, .has_lengths = true};
    one.attributes = {{"input_forget", is_coupled}};
    EXPECT_LT(error_of(one), 1e-7) << is_coupled;
  }
}

TEST(LstmGradient, OfTheLastCellStateAloneIsItsSlope) {
  EXPECT_LT(error_of({.has_peepholes = true, .results = {2}}), 1e-7);
}

TEST(GruGradient, WithTheResetBehindTheRecurrenceIsItsSlope) {
  Setting one{.op = "GRU", .direction = "bidirectional"};
  one.attributes = {{"linear_before_reset", std::int64_t{1}}};
  EXPECT_LT(error_of(one), 1e-7);
}

TEST(LstmGradient, HasOnlyTheResultsThatAreAskedFor) {
  const Setting setting{.has_states = false};
  Case one{.name = "LSTM"};
  for (const auto& [place, shape] : operands_of(setting)) one.inputs.push_back(shape);
  one.build = [&](GraphBuilder& builder, const std::vector<ValueId>& given) {
    return built(setting, builder, given);
  };
  const Scene scene = scene_of(one);
  const Inferred inferred = infer_shapes(scene.graph);
  const std::vector<ValueId> by = {inferred.graph.inputs()[1]};
  const Differentiated both = differentiate(inferred, scene.loss, by);
  const auto found = std::ranges::find(both.graph.nodes(), "LstmGradient", &Node::op);
  ASSERT_NE(found, both.graph.nodes().end());
  for (std::size_t i = 0; i < found->outputs.size(); ++i) EXPECT_EQ(found->has_output(i), i == 1);
}

}  // namespace
}  // namespace assay
