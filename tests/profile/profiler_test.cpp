#include "assay/profiler.h"

#include <gtest/gtest.h>

#include "assay/builder.h"
#include "assay/count.h"
#include "assay/error.h"
#include "assay/layer_estimate.h"
#include "assay/layers.h"
#include "assay/zoo.h"

namespace assay {
namespace {

TEST(Profiler, CountsTheParametersOfLinearLayers) {
  EXPECT_EQ(Profiler().count_parameters(Linear(128, 64)), 8256);
  EXPECT_EQ(Profiler().count_parameters(Linear(768, 3072)), 2362368);
  EXPECT_EQ(Profiler().count_parameters(Relu()), 0);
}

TEST(Profiler, FlopsOfALinearLayerDoNotDependOnTheBatch) {
  EXPECT_EQ(Profiler().count_flops(Linear(128, 64), {1, 128}), 16384);
  EXPECT_EQ(Profiler().count_flops(Linear(128, 64), {32, 128}), 16384);
}

TEST(Profiler, FlopsOfTheFirstLayerOfResNet) {
  const Layer conv = Conv2d(3, 64, 7, {.stride = 2, .padding = 3});
  EXPECT_EQ(Profiler().count_flops(conv, {1, 3, 224, 224}), 236027904);
}

TEST(Profiler, FlopsOfABareElementwiseOpAreItsElements) {
  EXPECT_EQ(Profiler().count_flops(Relu(), {4, 8}), 32);
}

TEST(Profiler, FlopsOfAnyOtherOpAreOnePerOutputElement) {
  EXPECT_EQ(Profiler().count_flops(Softmax(), {4, 8}), 32);
  EXPECT_EQ(Profiler().count_flops(MaxPool2d(2), {1, 3, 8, 8}), 3 * 4 * 4);
  EXPECT_EQ(Profiler().count_flops(Flatten(), {4, 8}), 0);
}

TEST(Profiler, FlopsOfASequenceAreTheSum) {
  const Layer sequence = Sequential({Linear(128, 64), Relu(), Linear(64, 10)});
  EXPECT_EQ(Profiler().count_flops(sequence, {1, 128}), 2 * 128 * 64 + 64 + 2 * 64 * 10);
}

TEST(LayerEstimates, OfTheSmallCnn) {
  const auto layers = estimate_layerwise_stats(zoo_model("small_cnn"), 32);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].layer, "conv1");
  EXPECT_EQ(layers[0].output_elements, 32 * 16 * 28 * 28);
  EXPECT_EQ(layers[0].parameter_bytes, (16 * 9 + 16) * 4);
  EXPECT_EQ(layers[0].activation_bytes, 32 * 16 * 28 * 28 * 4);
  EXPECT_EQ(layers[0].macs, 32 * 16 * 28 * 28 * 9);
  EXPECT_EQ(layers[1].layer, "conv2");
  EXPECT_EQ(layers[1].macs, 32 * 32 * 14 * 14 * 16 * 9);
  EXPECT_EQ(layers[2].layer, "classifier");
  EXPECT_EQ(layers[2].macs, 32 * 1568 * 10);
}

TEST(LayerEstimates, TakeAnotherActivationWidth) {
  const auto layers = estimate_layerwise_stats(zoo_model("small_cnn"), 1, {1, 28, 28}, 1);
  EXPECT_EQ(layers[0].activation_bytes, 16 * 28 * 28);
}

TEST(LayerEstimates, IncludeTheTwoProductsOfAttention) {
  const auto layers = estimate_layerwise_stats(
      zoo_model("encoder:layers=1,width=64,heads=2,length=16"), 1, {16, 64});
  std::int64_t macs = 0;
  for (const auto& layer : layers) macs += layer.macs;
  EXPECT_EQ(macs, 16 * 64 * (4 * 64) + 2 * 16 * 16 * 64 + 2 * 16 * 64 * (4 * 64));
}

// x → wide (8 × 8 in fp32) → Cast → narrow (8 × 8 in fp16) → squared (its product with itself).
Graph of_two_precisions() {
  GraphBuilder build("mixed");
  const ValueId x = build.input("x", DataType::Float32, Shape({Dim::symbol("N"), 8, 8}));
  const ValueId wide = build.node("MatMul", "wide", {x, build.weight("w", {8, 8}, 1)});
  const auto half = static_cast<std::int64_t>(DataType::Float16);
  const ValueId cast = build.node("Cast", "cast", {wide}, {{"to", half}});
  const std::vector<std::uint16_t> zeros(8 * 8);
  const Tensor weight =
      Tensor::of(DataType::Float16, {8, 8}, std::span<const std::uint16_t>(zeros));
  const ValueId narrow = build.node("MatMul", "narrow", {cast, build.constant("w16", weight)});
  build.output(build.node("MatMul", "squared", {narrow, narrow}), "y");
  return build.finish();
}

TEST(LayerEstimates, EveryLayerTakesTheWidthOfItsOwnParameters) {
  const auto layers = estimate_layerwise_stats(of_two_precisions(), 3, {8, 8});
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].parameter_bytes, 8 * 8 * 4);
  EXPECT_EQ(layers[0].activation_bytes, 3 * 8 * 8 * 4);
  EXPECT_EQ(layers[1].parameter_bytes, 8 * 8 * 2);
  EXPECT_EQ(layers[1].activation_bytes, 3 * 8 * 8 * 2);
  // Without parameters: the data type of its output.
  EXPECT_EQ(layers[2].parameter_bytes, 0);
  EXPECT_EQ(layers[2].activation_bytes, 3 * 8 * 8 * 2);
}

TEST(LayerEstimates, SayWhenThereIsNothingToEstimate) {
  EXPECT_THROW(estimate_layerwise_stats(Relu(), 1), Error);
  EXPECT_THROW(estimate_layerwise_stats(zoo_model("small_cnn"), 0), Error);
}

TEST(CountModel, BalancesStoredBytes) {
  const CountResult result = count_model(zoo_model("resnet18"), "resnet18");
  EXPECT_EQ(result.cost.totals.parameter_bytes, 4 * 11'689'512);
  EXPECT_EQ(result.memory.stored_bytes, result.cost.totals.parameter_bytes +
                                            result.cost.totals.statistics_bytes +
                                            result.cost.totals.constants_bytes);
  EXPECT_GE(result.memory.peak_activation_bytes, result.memory.lower_bound_bytes);
}

}  // namespace
}  // namespace assay
