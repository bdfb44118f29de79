#include "assay/cost.h"

#include <gtest/gtest.h>

#include "assay/bind.h"
#include "assay/builder.h"
#include "assay/error.h"
#include "assay/layers.h"

namespace assay {
namespace {

using Attributes = std::vector<Attribute>;
constexpr DataType kFloat = DataType::Float32;

// One node over inputs of the given shapes; shapes after `first_weight` are stored weights.
struct OneNode {
  std::string op;
  std::vector<Shape> inputs;
  std::size_t first_weight = 1;
  Attributes attributes = {};
  std::size_t outputs = 1;
  std::string domain = "";
  std::vector<DataType> types = {};  // of the inputs that are not stored; float where none is given
};

CostSheet cost_of(const OneNode& one) {
  GraphBuilder builder("g");
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    const DataType type = i < one.types.size() ? one.types[i] : kFloat;
    inputs.push_back(i < one.first_weight ? builder.input(name, type, one.inputs[i])
                                          : builder.weight(name, one.inputs[i].values(), 1.0));
  }
  const auto outputs =
      builder.node_with_outputs(one.op, "node", inputs, one.outputs, one.attributes);
  builder.output(outputs[0], "y");
  Graph graph = builder.finish();
  graph.node(NodeId{0}).domain = one.domain;
  if (!one.domain.empty()) graph.opsets[one.domain] = 1;
  return count_costs(infer_shapes(std::move(graph)));
}

const LayerCost& only_layer(const CostSheet& sheet) {
  EXPECT_EQ(sheet.layers.size(), 1u);
  return sheet.layers.at(0);
}

std::vector<std::int64_t> two(std::int64_t n) {
  return {n, n};
}

TEST(Cost, ConvCountsEveryTapOfEveryOutputElement) {
  const auto sheet = cost_of({"Conv",
                              {{1, 3, 8, 8}, {16, 3, 3, 3}},
                              1,
                              {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}});
  EXPECT_EQ(only_layer(sheet).macs, 8 * 8 * 16 * 3 * 3 * 3);
  EXPECT_EQ(only_layer(sheet).flops, 2 * 8 * 8 * 16 * 3 * 3 * 3);
  EXPECT_EQ(only_layer(sheet).parameters, 16 * 3 * 3 * 3);
}

TEST(Cost, EffectiveMacsLeaveOutPaddedTaps) {
  const auto sheet = cost_of(
      {"Conv", {{1, 1, 4, 4}, {1, 1, 3, 3}}, 1, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}});
  // On each axis the 4 positions have 2, 3, 3 and 2 taps inside.
  EXPECT_EQ(only_layer(sheet).macs, 4 * 4 * 9);
  EXPECT_EQ(only_layer(sheet).effective_macs, (2 + 3 + 3 + 2) * (2 + 3 + 3 + 2));
}

TEST(Cost, EffectiveMacsFollowStrideAndDilation) {
  const auto sheet = cost_of({"Conv",
                              {{1, 1, 7}, {1, 1, 3}},
                              1,
                              {{"pads", std::vector<std::int64_t>{2, 2}},
                               {"strides", std::vector<std::int64_t>{2}},
                               {"dilations", std::vector<std::int64_t>{2}}}});
  // Output 4 long; taps at o·2 − 2 + {0, 2, 4}: {-2,0,2}, {0,2,4}, {2,4,6}, {4,6,8} → 2+3+3+2.
  EXPECT_EQ(only_layer(sheet).macs, 4 * 3);
  EXPECT_EQ(only_layer(sheet).effective_macs, 10);
}

TEST(Cost, EffectiveMacsUnderstandAutomaticPadding) {
  const auto sheet =
      cost_of({"Conv", {{1, 1, 4, 4}, {1, 1, 3, 3}}, 1, {{"auto_pad", std::string("SAME_UPPER")}}});
  EXPECT_EQ(only_layer(sheet).effective_macs, 10 * 10);
}

TEST(Cost, DepthwiseConvCountsOneInputChannelPerFilter) {
  const auto sheet =
      cost_of({"Conv",
               {{1, 16, 8, 8}, {16, 1, 3, 3}},
               1,
               {{"group", std::int64_t{16}}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}});
  EXPECT_EQ(only_layer(sheet).macs, 8 * 8 * 3 * 3 * 16);
}

TEST(Cost, AConvolutionReportsItsForm) {
  const auto form = [](const std::vector<std::int64_t>& weight, std::int64_t group,
                       std::int64_t stride) {
    return only_layer(cost_of({"Conv",
                               {Shape{1, 16, 8, 8}, Shape(weight)},
                               1,
                               {{"group", group}, {"strides", two(stride)}}}))
        .form;
  };
  EXPECT_EQ(form({16, 1, 3, 3}, 16, 1), "depthwise 3x3");
  EXPECT_EQ(form({32, 4, 3, 3}, 4, 1), "grouped 3x3");
  EXPECT_EQ(form({32, 16, 1, 1}, 1, 1), "1x1");
  EXPECT_EQ(form({32, 16, 5, 3}, 1, 2), "5x3/2");
}

TEST(Cost, ConvOfThreeSpatialAxes) {
  const auto sheet = cost_of({"Conv", {{2, 4, 5, 6, 7}, {8, 4, 2, 2, 2}}});
  EXPECT_EQ(only_layer(sheet).macs, 2 * 8 * (4 * 5 * 6) * 4 * (2 * 2 * 2));
}

TEST(Cost, TransposedConvVisitsTheKernelForEveryInputElement) {
  const auto sheet =
      cost_of({"ConvTranspose", {{1, 8, 5, 5}, {8, 4, 2, 2}}, 1, {{"strides", two(2)}}});
  EXPECT_EQ(only_layer(sheet).macs, 8 * 5 * 5 * 4 * 2 * 2);
  EXPECT_EQ(only_layer(sheet).effective_macs, 8 * 5 * 5 * 4 * 2 * 2);
}

TEST(Cost, TransposedConvWithPaddingCropsWhatItWrites) {
  const auto sheet = cost_of(
      {"ConvTranspose",
       {{1, 1, 3}, {1, 1, 3}},
       1,
       {{"strides", std::vector<std::int64_t>{2}}, {"pads", std::vector<std::int64_t>{1, 1}}}});
  // Output 5 long; input i writes 2i − 1 + {0, 1, 2}: {-1,0,1}, {1,2,3}, {3,4,5} → 2 + 3 + 2.
  EXPECT_EQ(only_layer(sheet).macs, 9);
  EXPECT_EQ(only_layer(sheet).effective_macs, 7);
}

TEST(Cost, BiasAddsOneFlopPerOutputElement) {
  const auto sheet = cost_of({"Gemm", {{4, 128}, {128, 64}, {64}}});
  EXPECT_EQ(only_layer(sheet).macs, 4 * 128 * 64);
  EXPECT_EQ(only_layer(sheet).bias_flops, 4 * 64);
  EXPECT_EQ(only_layer(sheet).flops, 2 * 4 * 128 * 64 + 4 * 64);
  EXPECT_EQ(only_layer(sheet).parameters, 128 * 64 + 64);
}

TEST(Cost, ABiasIsABiasAlsoBehindMatMul) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{2, 5, 8});
  builder.output(Linear(8, 4)(builder, x), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(sheet.totals.macs, 2 * 5 * 8 * 4);
  EXPECT_EQ(sheet.totals.bias_flops, 2 * 5 * 4);
  EXPECT_EQ(sheet.totals.other_flops, 0);
}

TEST(Cost, MatMulBroadcastsItsBatch) {
  const auto sheet = cost_of({"MatMul", {{3, 1, 4, 5}, {2, 5, 6}}, 2});
  EXPECT_EQ(only_layer(sheet).macs, 3 * 2 * 4 * 5 * 6);
}

TEST(Cost, MatMulOfVectorsIsADotProduct) {
  const auto sheet = cost_of({"MatMul", {{7}, {7}}, 2});
  EXPECT_EQ(only_layer(sheet).macs, 7);
}

TEST(Cost, EinsumCountsEveryCombinationOfIndices) {
  const auto scores = cost_of({"Einsum",
                               {{2, 3, 4, 5}, {2, 3, 6, 5}},
                               2,
                               {{"equation", std::string("bhid, bhjd -> bhij")}}});
  EXPECT_EQ(only_layer(scores).macs, 2 * 3 * 4 * 6 * 5);
  const auto dotted = cost_of(
      {"Einsum", {{2, 3, 4}, {2, 4, 5}}, 2, {{"equation", std::string("...ij,...jk->...ik")}}});
  EXPECT_EQ(only_layer(dotted).macs, 2 * 3 * 4 * 5);
}

TEST(Cost, LstmCountsAllTimeStepsAndDirections) {
  const auto sheet =
      cost_of({"LSTM",
               {{64, 1, 128}, {2, 4 * 256, 128}, {2, 4 * 256, 256}},
               1,
               {{"hidden_size", std::int64_t{256}}, {"direction", std::string("bidirectional")}}});
  EXPECT_EQ(only_layer(sheet).macs, std::int64_t{64} * 2 * 4 * 256 * (128 + 256));
}

TEST(Cost, AQuantisedLstmCountsAsTheFloatOne) {
  constexpr std::int64_t kHidden = 4;
  GraphBuilder builder("g");
  const auto bytes = [&](const char* name, std::vector<std::int64_t> dims) {
    std::vector<std::byte> data(static_cast<std::size_t>(*Shape(dims).elements()));
    return builder.constant(name, Tensor(DataType::Int8, dims, heap_storage(std::move(data))));
  };
  const std::vector<ValueId> inputs = {builder.input("x", kFloat, Shape{5, 2, 3}),
                                       bytes("w", {1, 3, 4 * kHidden}),
                                       bytes("r", {1, kHidden, 4 * kHidden}),
                                       builder.weight("b", {1, 8 * kHidden}, 1.0),
                                       {},
                                       {},
                                       {},
                                       {},
                                       builder.filled("ws", {1, 4 * kHidden}, 0.1f),
                                       bytes("wz", {1, 4 * kHidden}),
                                       builder.filled("rs", {1, 4 * kHidden}, 0.1f),
                                       bytes("rz", {1, 4 * kHidden})};
  builder.output(builder.node("DynamicQuantizeLSTM", "node", inputs), "y");
  Graph graph = builder.finish();
  graph.node(NodeId{0}).domain = "com.microsoft";
  graph.opsets["com.microsoft"] = 1;
  const auto sheet = count_costs(infer_shapes(std::move(graph)));
  EXPECT_EQ(only_layer(sheet).macs, 5 * 2 * 4 * kHidden * (3 + kHidden));
  EXPECT_EQ(sheet.totals.parameters, 4 * kHidden * (3 + kHidden + 2));
  EXPECT_EQ(sheet.totals.constants, 4 * 4 * kHidden);  // scales and zero points
}

TEST(Cost, QuantisedAttentionCountsAsTheFloatOne) {
  const auto sheet = cost_of({"QAttention",
                              {{2, 5, 8}, {8, 24}, {24}, {}, {}},
                              5,
                              {{"num_heads", std::int64_t{2}}},
                              1,
                              "com.microsoft",
                              {DataType::UInt8, DataType::Int8}});
  EXPECT_EQ(only_layer(sheet).macs, 2 * 5 * 8 * 24 + 2 * (2 * 5 * 5 * 8));
}

TEST(Cost, AQuantisedSoftmaxCountsAsTheFloatOne) {
  const auto sheet = cost_of({"QLinearSoftmax",
                              {{2, 10}, {}, {}, {}, {}},
                              5,
                              {{"opset", std::int64_t{13}}},
                              1,
                              "com.microsoft",
                              {DataType::UInt8, kFloat, DataType::UInt8, kFloat, DataType::UInt8}});
  EXPECT_EQ(only_layer(sheet).flops, 5 * 2 * 10);
}

TEST(Cost, AQuantisedPoolCountsEveryTap) {
  const auto sheet = cost_of({"QLinearAveragePool",
                              {{1, 3, 8, 8}, {}, {}, {}, {}},
                              5,
                              {{"kernel_shape", two(2)}, {"strides", two(2)}},
                              1,
                              "com.microsoft",
                              {DataType::UInt8, kFloat, DataType::UInt8, kFloat, DataType::UInt8}});
  EXPECT_EQ(only_layer(sheet).flops, 3 * 4 * 4 * 2 * 2);
}

TEST(Cost, GruHasThreeGatesAndRnnOne) {
  const auto gru = cost_of({"GRU",
                            {{10, 2, 8}, {1, 3 * 16, 8}, {1, 3 * 16, 16}},
                            1,
                            {{"hidden_size", std::int64_t{16}}}});
  EXPECT_EQ(only_layer(gru).macs, 10 * 2 * 3 * 16 * (8 + 16));
  const auto rnn = cost_of(
      {"RNN", {{10, 2, 8}, {1, 16, 8}, {1, 16, 16}}, 1, {{"hidden_size", std::int64_t{16}}}});
  EXPECT_EQ(only_layer(rnn).macs, 10 * 2 * 16 * (8 + 16));
}

TEST(Cost, RecurrentGradientsRepeatTheForwardPassAndAddTwoProductsForEachOfIts) {
  const auto sheet = cost_of({"LstmGradient",
                              {{10, 2, 8}, {1, 4 * 16, 8}, {1, 4 * 16, 16}, {1, 8 * 16}},
                              1,
                              {{"hidden_size", std::int64_t{16}}},
                              4,
                              std::string(kOwnDomain)});
  const std::int64_t units = 10 * 2 * 16;
  EXPECT_EQ(only_layer(sheet).macs, 3 * units * 4 * (8 + 16));
  EXPECT_EQ(only_layer(sheet).flops, 2 * only_layer(sheet).macs + 3 * 9 * units + 2 * 4 * units);
}

TEST(Cost, DropoutInTrainingDrawsAndMultipliesForEveryElement) {
  const auto sheet = cost_of(
      {"Dropout", {{4, 8}, {}}, 2, {}, 2, std::string(kOwnDomain), {kFloat, DataType::Int64}});
  EXPECT_EQ(sheet.totals.flops, 2 * 4 * 8);
}

TEST(Cost, ResizeGradientCountsEveryTap) {
  const auto flops = [](const char* mode) {
    return cost_of({"ResizeGradient",
                    {{2, 3, 8, 8}, {}, {4}},
                    3,
                    {{"mode", std::string(mode)},
                     {"input_dims", std::vector<std::int64_t>{2, 3, 4, 4}}},
                    1,
                    std::string(kOwnDomain)})
        .totals.flops;
  };
  EXPECT_EQ(flops("nearest"), 2 * 3 * 8 * 8);
  EXPECT_EQ(flops("linear"), 2 * (2 * 2) * 2 * 3 * 8 * 8);
}

TEST(Cost, ElementwiseIsOneFlopPerOutputElement) {
  EXPECT_EQ(cost_of({"Relu", {{4, 8}}}).totals.flops, 4 * 8);
  EXPECT_EQ(cost_of({"Add", {{4, 8}, {8}}, 2}).totals.flops, 4 * 8);
  EXPECT_EQ(cost_of({"Sum", {{4, 8}, {4, 8}, {4, 8}}, 3}).totals.flops, 2 * 4 * 8);
}

TEST(Cost, PoolingIsOneFlopPerElementOfEveryWindow) {
  const auto sheet =
      cost_of({"MaxPool", {{1, 2, 4, 4}}, 1, {{"kernel_shape", two(2)}, {"strides", two(2)}}});
  EXPECT_EQ(sheet.totals.flops, 2 * (2 * 2) * (2 * 2));
  EXPECT_EQ(cost_of({"GlobalAveragePool", {{1, 2, 4, 4}}}).totals.flops, 2 * 4 * 4);
}

TEST(Cost, BatchNormKeepsItsStatisticsApart) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{1, 8, 4, 4});
  builder.output(BatchNorm2d(8)(builder, x), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(sheet.totals.parameters, 2 * 8);
  EXPECT_EQ(sheet.totals.statistics, 2 * 8);
  EXPECT_EQ(sheet.totals.statistics_bytes, 2 * 8 * 4);
  EXPECT_EQ(sheet.totals.flops, 2 * 8 * 4 * 4);
}

TEST(Cost, ViewsAreFreeAndMoveNothing) {
  const auto sheet = cost_of({"Flatten", {{2, 3, 4}}});
  EXPECT_EQ(only_layer(sheet).answer, Answer::Free);
  EXPECT_EQ(only_layer(sheet).bytes_read + only_layer(sheet).bytes_written, 0);
  EXPECT_EQ(sheet.totals.activation_bytes, 0);
}

TEST(Cost, AnUnknownOpIsANamedRowAndNotAZero) {
  const auto sheet = cost_of({"Frobnicate", {{2, 3}}});
  EXPECT_EQ(only_layer(sheet).answer, Answer::Unknown);
  ASSERT_EQ(sheet.uncounted.size(), 1u);
  EXPECT_EQ(sheet.uncounted[0].op, "Frobnicate");
  EXPECT_EQ(sheet.uncounted[0].node, "node");
}

TEST(Cost, WhatIsUnknownAddsNothingToTheTotals) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{2, 3});
  const ValueId odd = builder.node("Frobnicate", "odd", {x});
  builder.output(builder.node("Transpose", "turn", {odd}), "y");
  Graph graph = builder.finish();
  // The file declares what comes out, but nobody knows what goes in.
  graph.value(graph.outputs()[0]).type = tensor_type(kFloat, Shape{3, 2});
  const auto sheet = count_costs(infer_shapes(std::move(graph)));
  EXPECT_EQ(sheet.uncounted.size(), 2u);
  EXPECT_EQ(sheet.totals.bytes_written, 0);
  EXPECT_EQ(sheet.totals.activation_bytes, 0);
}

TEST(Cost, GatherReadsTheRowsItPicksAndOwnsTheTable) {
  GraphBuilder builder("g");
  const ValueId ids = builder.input("ids", DataType::Int64, Shape{1, 7});
  const ValueId table = builder.weight("table", {1000, 16}, 1.0);
  builder.output(builder.node("Gather", "embed", {table, ids}), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(only_layer(sheet).parameters, 1000 * 16);
  EXPECT_EQ(only_layer(sheet).bytes_read, 7 * 16 * 4 + 7 * 8);
  EXPECT_EQ(only_layer(sheet).bytes_written, 7 * 16 * 4);
}

TEST(Cost, ASharedWeightCountsOnce) {
  GraphBuilder builder("g");
  const ValueId ids = builder.input("ids", DataType::Int64, Shape{1, 7});
  const ValueId table = builder.weight("table", {50, 16}, 1.0);
  const ValueId hidden = builder.node("Gather", "embed", {table, ids});
  const ValueId head = builder.node("Transpose", "turn", {table});
  builder.output(builder.node("MatMul", "head", {hidden, head}), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(sheet.totals.parameters, 50 * 16);
  EXPECT_EQ(sheet.layers[0].parameters, 50 * 16);
  EXPECT_EQ(sheet.layers[2].parameters, 0);
}

TEST(Cost, AWeightBelongsToTheOpThatUsesIt) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{1, 8});
  const ValueId weight = builder.weight("w", {4, 8}, 1.0);
  const ValueId transposed = builder.node("Transpose", "turn", {weight});
  builder.output(builder.node("MatMul", "product", {x, transposed}), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(sheet.layers[0].parameters, 0);
  EXPECT_EQ(sheet.layers[1].parameters, 4 * 8);
}

TEST(Cost, QuantisedWeightsAreParametersScalesAreNot) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{1, 3, 8, 8});
  const std::vector<std::int8_t> weights(16 * 3 * 3 * 3, 1);
  const ValueId stored =
      builder.constant("w", Tensor::of<std::int8_t>(DataType::Int8, {16, 3, 3, 3}, weights));
  const ValueId scale = builder.filled("scale", {16}, 0.1f);
  const ValueId zero = builder.constant(
      "zero", Tensor::of<std::int8_t>(DataType::Int8, {16}, std::vector<std::int8_t>(16, 0)));
  const ValueId weight = builder.node("DequantizeLinear", "dequantize", {stored, scale, zero},
                                      {{"axis", std::int64_t{0}}});
  builder.output(builder.node("Conv", "conv", {x, weight}), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(sheet.totals.parameters, 16 * 3 * 3 * 3);
  EXPECT_EQ(sheet.totals.parameter_bytes, 16 * 3 * 3 * 3);
  EXPECT_EQ(sheet.totals.constants, 16 + 16);
  EXPECT_EQ(sheet.layers.back().parameters, 16 * 3 * 3 * 3);
}

// A Constant whose `outputs` have no names.
Graph with_unnamed_constant(std::size_t outputs) {
  GraphBuilder builder("g");
  builder.output(builder.node("Relu", "relu", {builder.input("x", kFloat, Shape{3})}), "y");
  Graph graph = builder.finish();
  Node constant{.name = "unnamed", .op = "Constant", .domain = ""};
  constant.outputs.resize(outputs);
  constant.set("value", Tensor::of_float({2}, {1, 2}));
  graph.add_node(constant);
  return graph;
}

// Inference refuses it in a graph that runs. The branch of an If that is never taken is counted as
// it is.
TEST(Cost, AConstantWithoutANamedOutputCountsNothing) {
  for (const std::size_t outputs : {0u, 1u}) {
    Inferred model;
    model.graph = with_unnamed_constant(outputs);
    EXPECT_THROW(infer_shapes(model.graph), Error);
    model.known.resize(model.graph.value_count());
    const auto totals = count_costs(model).totals;
    EXPECT_EQ(totals.parameters, 0);
    EXPECT_EQ(totals.constants, 0);
  }
}

TEST(Cost, MasksAreConstants) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{1, 2, 2});
  const float forbidden = -1e9f;
  const ValueId mask = builder.constant("mask", Tensor::of_float({2, 2}, {0, forbidden, 0, 0}));
  const ValueId masked = builder.node("Add", "mask_scores", {x, mask});
  builder.output(builder.node("Softmax", "softmax", {masked}), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(sheet.totals.parameters, 0);
  EXPECT_EQ(sheet.totals.constants, 4);
}

// x·W plus a stored tensor of zeros, then perhaps a softmax.
std::int64_t parameters_with_zeros(std::vector<std::int64_t> dims, bool softmax) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{1, 2, 2, 2});
  const ValueId sum =
      builder.node("Add", "sum", {x, builder.filled("zeros", std::move(dims), 0.0f)});
  builder.output(softmax ? builder.node("Softmax", "softmax", {sum}) : sum, "y");
  return count_costs(infer_shapes(builder.finish())).totals.parameters;
}

TEST(Cost, AMaskThatForbidsNothingIsAConstantOnlyBeforeASoftmax) {
  EXPECT_EQ(parameters_with_zeros({1, 1, 1, 2}, true), 0);
  EXPECT_EQ(parameters_with_zeros({1, 1, 1, 2}, false), 2);
  EXPECT_EQ(parameters_with_zeros({2}, true), 2);
}

TEST(Cost, PrecisionRecountsFloatingBytesOnly) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{4, 8});
  builder.output(Linear(8, 2, {.bias = false})(builder, x), "y");
  const auto inferred = infer_shapes(builder.finish());
  const auto half = count_costs(inferred, {.stored_as = DataType::Float16});
  EXPECT_EQ(half.totals.parameter_bytes, 8 * 2 * 2);
  EXPECT_EQ(half.totals.activation_bytes, 4 * 2 * 2);
  EXPECT_EQ(half.totals.bytes_read, 2 * (4 * 8 + 8 * 2));
  EXPECT_EQ(half.totals.macs, 4 * 8 * 2);
}

TEST(Cost, TensorsThatNobodyReadsAreAVisibleRow) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{4});
  builder.weight("orphan", {10}, 1.0);
  builder.output(builder.node("Relu", "relu", {x}), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(sheet.totals.parameters, 10);
  EXPECT_EQ(sheet.layers.back().name, "(unused)");
}

GraphPtr adding_branch(ValueId outer, std::vector<std::int64_t> dims) {
  Graph graph;
  graph.opsets[""] = 17;
  const ValueId captured = graph.add_value("captured");
  graph.add_capture({outer, captured});
  const ValueId weight = graph.add_value("weight");
  graph.add_initializer(
      weight, Tensor::of_float(dims, std::vector<float>(static_cast<std::size_t>(dims[0]), 1.0f)));
  const ValueId sum = graph.add_value("sum");
  graph.add_node(Node{
      .name = "add", .op = "Add", .domain = "", .inputs = {captured, weight}, .outputs = {sum}});
  graph.add_output(sum);
  return std::make_shared<const Graph>(std::move(graph));
}

CostSheet cost_of_choice(bool condition_is_known) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{4, 3});
  const std::uint8_t yes = 1;
  const ValueId condition =
      condition_is_known
          ? builder.constant("c", Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&yes, 1)))
          : builder.input("c", DataType::Bool, Shape{});
  builder.output(builder.node("If", "choose", {condition},
                              {{"then_branch", adding_branch(x, {3})},
                               {"else_branch", adding_branch(x, {3})}}),
                 "y");
  return count_costs(infer_shapes(builder.finish()));
}

TEST(Cost, OfAnOpenChoiceOneBranchRunsAndBothAreStored) {
  const auto sheet = cost_of_choice(false);
  EXPECT_EQ(sheet.totals.flops, 4 * 3);
  EXPECT_EQ(sheet.totals.parameters, 3 + 3);
  EXPECT_EQ(sheet.warnings.size(), 1u);
}

TEST(Cost, ABranchNeverTakenIsStoredAllTheSame) {
  const auto sheet = cost_of_choice(true);
  EXPECT_EQ(sheet.totals.flops, 4 * 3);
  EXPECT_EQ(sheet.totals.parameters, 3 + 3);
  EXPECT_EQ(sheet.layers.back().name, "(unused)");
  EXPECT_EQ(sheet.layers.back().parameters, 3);
}

Tensor truth(bool value) {
  const std::uint8_t byte = value ? 1 : 0;
  return Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&byte, 1));
}

enum class Condition { GivenAgain, Constant, FromData, Counting };

// for i in 0..10: x = Relu(x), x of four elements
CostSheet cost_of_loop(bool enters, Condition condition, bool goes_on = true) {
  Graph body;
  body.opsets[""] = 17;
  const ValueId round = body.add_value("round", tensor_type(DataType::Int64, Shape{}));
  const ValueId given = body.add_value("given", tensor_type(DataType::Bool, Shape{}));
  const ValueId state = body.add_value("state", tensor_type(kFloat, Shape{4}));
  for (const ValueId input : {round, given, state}) body.add_input(input);
  const ValueId next = body.add_value("next");
  body.add_node(
      Node{.name = "relu", .op = "Relu", .domain = "", .inputs = {state}, .outputs = {next}});
  ValueId again = given;
  if (condition == Condition::Constant) {
    again = body.add_value("again");
    body.add_initializer(again, truth(goes_on));
  }
  if (condition == Condition::FromData) {
    const ValueId largest = body.add_value("largest");
    body.add_node(Node{.name = "largest",
                       .op = "ReduceMax",
                       .domain = "",
                       .inputs = {state},
                       .outputs = {largest},
                       .attributes = {{"keepdims", std::int64_t{0}}}});
    again = body.add_value("again");
    body.add_node(Node{.name = "cast",
                       .op = "Cast",
                       .domain = "",
                       .inputs = {largest},
                       .outputs = {again},
                       .attributes = {{"to", static_cast<std::int64_t>(DataType::Bool)}}});
  }
  if (condition == Condition::Counting) {
    const ValueId limit = body.add_value("limit");
    body.add_initializer(limit, Tensor::of_int64({}, {6}));
    again = body.add_value("again");
    body.add_node(Node{
        .name = "less", .op = "Less", .domain = "", .inputs = {round, limit}, .outputs = {again}});
  }
  body.add_output(again);
  body.add_output(next);
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{4});
  const ValueId trips = builder.constant("trips", Tensor::of_int64({}, {10}));
  const ValueId start = builder.constant("start", truth(enters));
  builder.output(builder.node("Loop", "loop", {trips, start, x},
                              {{"body", std::make_shared<const Graph>(std::move(body))}}),
                 "y");
  return count_costs(infer_shapes(builder.finish()));
}

TEST(Cost, ALoopCountsEveryRoundThatIsSureToRun) {
  EXPECT_EQ(cost_of_loop(true, Condition::GivenAgain).totals.flops, 10 * 4);
  EXPECT_EQ(cost_of_loop(true, Condition::Constant, true).totals.flops, 10 * 4);
  EXPECT_EQ(cost_of_loop(true, Condition::Constant, false).totals.flops, 1 * 4);
  EXPECT_EQ(cost_of_loop(false, Condition::GivenAgain).totals.flops, 0);
}

TEST(Cost, ALoopThatEndsItselfCountsTheRoundsUntilItDoes) {
  // It goes on after rounds 0 to 5: seven rounds of a Relu of 4 elements and a comparison.
  EXPECT_EQ(cost_of_loop(true, Condition::Counting).totals.flops, 7 * (4 + 1));
}

TEST(Cost, ALoopThatDataMayEndIsNotCounted) {
  const auto sheet = cost_of_loop(true, Condition::FromData);
  ASSERT_EQ(sheet.uncounted.size(), 1u);
  EXPECT_EQ(sheet.uncounted[0].op, "Loop");
}

TEST(Cost, ACostBeyondSixtyFourBitsIsAnError) {
  const std::int64_t huge = std::int64_t{1} << 31;
  EXPECT_THROW(cost_of({"Relu", {{huge, huge}}}), Error);
}

TEST(Cost, AQuantisedEmbeddingIsAParameter) {
  GraphBuilder builder("g");
  const ValueId ids = builder.input("ids", DataType::Int64, Shape{1, 7});
  const std::vector<std::uint8_t> table(1000 * 16, 1);
  const ValueId stored =
      builder.constant("table", Tensor::of<std::uint8_t>(DataType::UInt8, {1000, 16}, table));
  const ValueId rows = builder.node("Gather", "embed", {stored, ids});
  const ValueId scale = builder.scalar("scale", 0.1f);
  const ValueId real = builder.node("DequantizeLinear", "dequantize", {rows, scale});
  builder.output(builder.node("Relu", "relu", {real}), "y");
  EXPECT_EQ(count_costs(infer_shapes(builder.finish())).totals.parameters, 1000 * 16);
}

TEST(Cost, ShapeArithmeticIsKnownBeforeRunning) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", kFloat, Shape{2, 3, 4});
  const ValueId shape = builder.node("Shape", "shape", {x});
  const ValueId doubled = builder.node("Mul", "mul", {shape, builder.ints("one", {1, 1, 1})});
  builder.output(builder.node("Reshape", "reshape", {x, doubled}), "y");
  const auto sheet = count_costs(infer_shapes(builder.finish()));
  EXPECT_EQ(sheet.totals.flops, 0);
  EXPECT_TRUE(sheet.uncounted.empty());
}

}  // namespace
}  // namespace assay
