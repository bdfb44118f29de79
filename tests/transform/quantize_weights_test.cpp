#include "assay/quantize_weights.h"

#include <gmock/gmock.h>

#include <cmath>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/verify.h"
#include "assay/zoo.h"

namespace assay {
namespace {

using testing::ElementsAre;

// A Gemm with a bias, a MatMul, and a head that is the transposed embedding.
Graph small_model() {
  GraphBuilder builder("small");
  const ValueId ids = builder.input("ids", DataType::Int64, Shape{2});
  const ValueId table = builder.weight("table", {50, 48}, 0.1);
  ValueId x = builder.node("Gather", "embedded", {table, ids});
  x = builder.node("Gemm", "gemm",
                   {x, builder.weight("w1", {64, 48}, 0.1), builder.weight("b1", {64}, 0.1)},
                   {{"transB", std::int64_t{1}}});
  x = builder.node("MatMul", "linear", {x, builder.weight("w2", {64, 48}, 0.1)});
  const ValueId turned =
      builder.node("Transpose", "turned", {table}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  builder.output(builder.node("MatMul", "head", {x, turned}), "scores");
  return builder.finish();
}

const Node& node_named(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes()) {
    if (node.name == name) return node;
  }
  throw Error(ErrorKind::BadInput, "no node " + name);
}

std::vector<float> floats_of(const Graph& graph, const std::string& name) {
  return graph.initializer(*graph.find_value(name))->to_vector<float>();
}

TEST(QuantizeWeights, ProductsWithConstantMatricesBecomeCodes) {
  const QuantizedWeights result = quantize_weights(small_model(), {.bits = 4, .block = 32});
  EXPECT_THAT(result.layers, ElementsAre("gemm", "linear", "head"));
  verify(result.graph);
  const Inferred model = infer_shapes(result.graph);
  EXPECT_EQ(model.graph.value(model.graph.outputs()[0]).type.shape, (Shape{2, 50}));
  EXPECT_EQ(node_named(result.graph, "gemm").inputs.size(), 6u);  // its bias is the sixth
  // Rows are still looked up in floats; the transpose and the matrices are gone.
  EXPECT_NE(result.graph.initializer(*result.graph.find_value("table")), nullptr);
  EXPECT_EQ(result.graph.initializer(*result.graph.find_value("w1")), nullptr);
  for (const Node& node : result.graph.nodes()) EXPECT_NE(node.op, "Transpose");
}

// 48 rows of one column of `linear`, in two blocks of 32.
TEST(QuantizeWeights, CodesAreWithinAStepOfTheWeights) {
  for (const int bits : {4, 8}) {
    for (const bool symmetric : {true, false}) {
      const Graph old = small_model();
      const Graph graph =
          quantize_weights(old, {.bits = bits, .block = 32, .symmetric = symmetric}).graph;
      const auto weights = floats_of(old, "w2");  // [64, 48]
      const auto scales = floats_of(graph, "linear.scales");
      const auto codes =
          graph.initializer(*graph.find_value("linear.codes"))->to_vector<std::uint8_t>();
      const auto zeros = symmetric ? std::vector<std::uint8_t>()
                                   : graph.initializer(*graph.find_value("linear.zero_points"))
                                         ->to_vector<std::uint8_t>();
      const auto code_at = [&](const std::vector<std::uint8_t>& packed, std::size_t at) {
        return bits == 8 ? packed[at] : (packed[at / 2] >> (at % 2 * 4)) & 15;
      };
      for (std::size_t column = 0; column < 48; ++column) {
        for (std::size_t row = 0; row < 64; ++row) {
          const std::size_t block = column * 2 + row / 32;
          const int zero = symmetric   ? 1 << (bits - 1)
                           : bits == 8 ? zeros[block]
                                       : code_at(zeros, block);
          const float value =
              static_cast<float>(code_at(codes, column * 64 + row) - zero) * scales[block];
          // Half a step; a whole one where a symmetric range ends one code early.
          const float allowed = std::abs(scales[block]) * (symmetric ? 1.001f : 0.501f);
          ASSERT_NEAR(value, weights[row * 48 + column], allowed) << bits << symmetric;
        }
      }
    }
  }
}

TEST(QuantizeWeights, WhatIsNoProductWithAConstantMatrixStays) {
  GraphBuilder builder("attention");
  const ValueId a = builder.input("a", DataType::Float32, Shape{2, 4});
  const ValueId b = builder.input("b", DataType::Float32, Shape{4, 2});
  builder.output(builder.node("MatMul", "product", {a, b}), "y");
  const Graph graph = builder.finish();
  const QuantizedWeights result = quantize_weights(graph);
  EXPECT_TRUE(result.layers.empty());
  EXPECT_EQ(result.graph, graph);
}

TEST(QuantizeWeights, BadSettingsAreRefused) {
  EXPECT_THROW(quantize_weights(small_model(), {.bits = 3}), Error);
  EXPECT_THROW(quantize_weights(small_model(), {.bits = 4, .block = 24}), Error);
}

}  // namespace
}  // namespace assay
