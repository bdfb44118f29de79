#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "assay/builder.h"
#include "transform/quantize/bias_correction.h"
#include "transform/quantize/biased_products.h"
#include "transform/quantize/dynamic.h"
#include "transform/quantize/equalize.h"
#include "transform/quantize/linear_scale.h"
#include "transform/quantize/plan.h"
#include "transform/quantize/prepare.h"
#include "transform/quantize/write_qdq.h"

namespace assay::transform {
namespace {

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) ops.push_back(node.op);
  return ops;
}

std::vector<std::string> quantized_nodes(const Graph& graph) {
  const QuantizationPlan plan = plan_quantization(graph);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    if (plan.is_quantized_node[i]) names.push_back(graph.node(NodeId{i}).name);
  }
  return names;
}

TEST(LinearScale, ZeroIsRepresentedExactly) {
  const LinearScale how = scale_for_range(-0.37, 1.9);
  EXPECT_FLOAT_EQ(how.scale, 2.27f / 255);
  EXPECT_EQ(how.zero_point, 42);  // 0.37 · 255 / 2.27 = 41.56
  EXPECT_EQ(to_uint8(0, how), how.zero_point);
}

TEST(LinearScale, RangesAreWidenedToIncludeZero) {
  EXPECT_EQ(scale_for_range(2, 5.1).zero_point, 0);
  EXPECT_FLOAT_EQ(scale_for_range(2, 5.1).scale, 5.1f / 255);
  EXPECT_EQ(scale_for_range(-5.1, -2).zero_point, 255);
  EXPECT_EQ(scale_for_range(0, 0).scale, 1.0f);
}

TEST(LinearScale, WeightsAreCodedByOutputChannel) {
  const Tensor weight = Tensor::of_float({2, 2}, {1.27f, -0.5f, 0.1f, 0.254f});
  const WeightCodes rows = coded_weight(weight, 0, true, {});
  EXPECT_THAT(rows.scales, testing::ElementsAre(testing::FloatEq(0.01f), testing::FloatEq(0.002f)));
  EXPECT_THAT(rows.codes.to_vector<std::int8_t>(), testing::ElementsAre(127, -50, 50, 127));
  const WeightCodes whole = coded_weight(weight, 0, false, {});
  EXPECT_THAT(whole.codes.to_vector<std::int8_t>(), testing::ElementsAre(127, -50, 10, 25));
}

TEST(LinearScale, ChannelsWithoutWeightsDoNotChangeTheScaleOfOthers) {
  const Tensor weight = Tensor::of_float({2, 1}, {0, 0.127f});
  EXPECT_THAT(coded_weight(weight, 0, true, {}).scales,
              testing::ElementsAre(1.0f, testing::FloatEq(0.001f)));
  EXPECT_THAT(coded_weight(weight, 0, false, {}).scales,
              testing::ElementsAre(testing::FloatEq(0.001f)));
}

// conv → relu → conv, added to the first relu's result → relu → global pool
Graph residual_graph() {
  GraphBuilder builder("residual");
  const ValueId x = builder.input("x", DataType::Float32, Shape({1, 2, 4, 4}));
  const auto conv = [&](const std::string& name, ValueId from) {
    return builder.node("Conv", name, {from, builder.weight(name + ".w", {2, 2, 1, 1}, 1)});
  };
  const ValueId first = builder.node("Relu", "relu1", {conv("conv1", x)});
  const ValueId sum = builder.node("Add", "sum", {conv("conv2", first), first});
  const ValueId relu = builder.node("Relu", "relu2", {sum});
  builder.output(builder.node("GlobalAveragePool", "pool", {relu}), "y");
  return builder.finish();
}

TEST(QuantizationPlan, AResidualBlockIsQuantisedAsAWhole) {
  const Graph graph = residual_graph();
  EXPECT_THAT(quantized_nodes(graph),
              testing::ElementsAre("conv1", "relu1", "conv2", "sum", "relu2", "pool"));
  const QuantizationPlan plan = plan_quantization(graph);
  EXPECT_FALSE(plan.is_quantized(*graph.find_value("conv1")));  // the Relu belongs to it
  EXPECT_TRUE(plan.is_quantized(*graph.find_value("relu1")));
  EXPECT_FALSE(plan.is_quantized(*graph.find_value("sum")));
}

TEST(QuantizationPlan, LayersKeptInFloatSayWhy) {
  const Graph graph = residual_graph();
  const QuantizationPlan plan = plan_quantization(graph, {.keep_float = {"conv2"}});
  ASSERT_EQ(plan.layers.size(), 2u);
  EXPECT_EQ(plan.layers[0].why_float, "");
  EXPECT_EQ(plan.layers[1].why_float, "kept by request");
}

TEST(QuantizationPlan, MovedElementsKeepTheirScale) {
  GraphBuilder builder("moved");
  const ValueId x = builder.input("x", DataType::Float32, Shape({1, 2, 4, 4}));
  const ValueId conv = builder.node("Conv", "conv", {x, builder.weight("w", {2, 2, 1, 1}, 1)});
  const ValueId pooled =
      builder.node("MaxPool", "pool", {conv}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
  builder.output(builder.node("Flatten", "flat", {pooled}), "y");
  const Graph graph = builder.finish();
  const QuantizationPlan plan = plan_quantization(graph);
  EXPECT_EQ(plan.range_from[graph.outputs()[0].number], conv);
}

TEST(QuantizationPlan, SumsBeforeLayerNormsStayFloat) {
  GraphBuilder builder("norm");
  const ValueId x = builder.input("x", DataType::Float32, Shape({2, 4}));
  const ValueId layer = builder.node("Gemm", "layer", {x, builder.weight("w", {4, 4}, 1)});
  const ValueId sum = builder.node("Add", "sum", {x, layer});
  builder.output(builder.node("LayerNormalization", "norm", {sum, builder.filled("gain", {4}, 1)}),
                 "y");
  EXPECT_THAT(quantized_nodes(builder.finish()), testing::ElementsAre("layer"));
}

TEST(QdqWriter, AConvolutionReadsAndWritesPairs) {
  GraphBuilder builder("conv");
  const ValueId x = builder.input("x", DataType::Float32, Shape({1, 1, 2, 2}));
  const ValueId w = builder.constant("w", Tensor::of_float({1, 1, 1, 1}, {2}));
  const ValueId b = builder.constant("b", Tensor::of_float({1}, {0.5f}));
  builder.output(builder.node("Conv", "conv", {x, w, b}), "y");
  const Graph graph = builder.finish();
  std::vector<LinearScale> scales(graph.value_count(), LinearScale{0.1f, 10});
  const QdqGraph written = write_qdq(graph, plan_quantization(graph), scales, {});
  EXPECT_THAT(
      ops_of(written.graph),
      testing::ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear",
                           "DequantizeLinear", "Conv", "QuantizeLinear", "DequantizeLinear"));
  const Tensor* bias = written.graph.initializer(*written.graph.find_value("conv.bias_quantized"));
  ASSERT_NE(bias, nullptr);
  EXPECT_EQ(bias->to_int64().front(), 318);  // 0.5 / (0.1 · 2/127) = 317.5, to even
  EXPECT_EQ(written.graph.value(written.graph.outputs()[0]).name, "y");
}

TEST(BiasCorrection, IsTheMeanOfWhatRoundingTakesAway) {
  GraphBuilder builder("gemm");
  const ValueId x = builder.input("x", DataType::Float32, Shape({1, 2}));
  const ValueId w = builder.constant("w", Tensor::of_float({2, 1}, {1.27f, 0.014f}));
  builder.output(builder.node("Gemm", "layer", {x, w}), "y");
  const Graph graph = builder.finish();
  const std::vector<double> means = {5, 2};
  // The scale is 0.01: 1.27 is exact, 0.014 becomes 0.01, so 0.004 · 2 is missing.
  EXPECT_NEAR(bias_correction(graph, graph.node(NodeId{0}), means, true)[0], 0.008, 1e-6);
}

TEST(Equalization, ChannelsOfBothLayersGetTheSameRange) {
  GraphBuilder builder("pair");
  const ValueId x = builder.input("x", DataType::Float32, Shape({1, 1}));
  const ValueId w1 = builder.constant("w1", Tensor::of_float({1, 2}, {8, 1}));
  const ValueId b1 = builder.constant("b1", Tensor::of_float({2}, {4, 1}));
  const ValueId relu = builder.node("Relu", "relu", {builder.node("Gemm", "one", {x, w1, b1})});
  const ValueId w2 = builder.constant("w2", Tensor::of_float({2, 1}, {2, 4}));
  builder.output(builder.node("Gemm", "two", {relu, w2}), "y");
  const EqualizedGraph found = equalize_layers(builder.finish());
  EXPECT_EQ(found.pairs, 1u);
  const auto stored = [&](const char* name) {
    return found.graph.initializer(*found.graph.find_value(name))->to_vector<float>();
  };
  // √(8 · 2) = 4 and √(1 · 4) = 2: the first channel is divided by 2, the second by 1/2.
  EXPECT_THAT(stored("w1"), testing::Pointwise(testing::FloatNear(1e-3f), {4.0f, 2.0f}));
  EXPECT_THAT(stored("b1"), testing::Pointwise(testing::FloatNear(1e-3f), {2.0f, 2.0f}));
  EXPECT_THAT(stored("w2"), testing::Pointwise(testing::FloatNear(1e-3f), {4.0f, 2.0f}));
}

TEST(BiasedProducts, AProductAndItsBiasBecomeAGemmOfRows) {
  GraphBuilder builder("tokens");
  const ValueId x = builder.input("x", DataType::Float32, Shape({Dim::symbol("batch"), 5, 4}));
  const ValueId product = builder.node("MatMul", "layer", {x, builder.weight("w", {4, 3}, 1)});
  builder.output(builder.node("Add", "sum", {product, builder.weight("b", {3}, 1)}), "y");
  const Graph graph = prepared_to_quantize(builder.finish());
  EXPECT_THAT(ops_of(graph), testing::ElementsAre("Reshape", "Gemm", "Reshape"));
  const Node& restored = graph.node(NodeId{2});
  EXPECT_THAT(graph.initializer(restored.inputs[1])->to_int64(), testing::ElementsAre(-1, 5, 3));
}

TEST(DynamicQuantization, SharesTheQuantisedActivation) {
  GraphBuilder builder("two");
  const ValueId x = builder.input("x", DataType::Float32, Shape({1, 4}));
  const ValueId a = builder.node("MatMul", "a", {x, builder.weight("wa", {4, 3}, 1)});
  const ValueId b = builder.node("MatMul", "b", {x, builder.weight("wb", {4, 3}, 1)});
  builder.output(builder.node("MatMul", "c", {a, builder.node("Transpose", "t", {b})}), "y");
  const DynamicGraph written = write_dynamic(builder.finish(), {});
  EXPECT_THAT(ops_of(written.graph),
              testing::ElementsAre("DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul",
                                   "MatMulInteger", "Cast", "Mul", "Mul", "Transpose", "MatMul"));
  ASSERT_EQ(written.layers.size(), 3u);
  EXPECT_EQ(written.layers[2].why_float, "its second operand is no stored weight");
}

}  // namespace
}  // namespace assay::transform
