#include "assay/low_rank.h"

#include <gmock/gmock.h>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/verify.h"

namespace assay {
namespace {

// Entry (i, j) of a matrix of rank 2: i·j/8 + (i % 3).
std::vector<float> rank_two(std::int64_t rows, std::int64_t columns) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j)
      values.push_back(static_cast<float>(i * j) / 8 + static_cast<float>(i % 3));
  }
  return values;
}

Graph linear(bool transposed) {
  GraphBuilder builder("linear");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 8});
  const ValueId w = transposed ? builder.constant("w", Tensor::of_float({12, 8}, rank_two(12, 8)))
                               : builder.constant("w", Tensor::of_float({8, 12}, rank_two(8, 12)));
  builder.output(builder.node("Gemm", "layer", {x, w, builder.filled("b", {12}, 1)},
                              {{"transB", std::int64_t{transposed}}}),
                 "y");
  return builder.finish();
}

std::vector<float> stored(const Graph& graph, const char* name) {
  return graph.initializer(*graph.find_value(name))->to_vector<float>();
}

// 8·12 weights; with 0.5 of them the rank is ⌊0.5 · 96 / 20⌋ = 2, which is the matrix' own.
TEST(LowRank, AMatrixOfThatRankLosesNothing) {
  for (const bool transposed : {false, true}) {
    const LowRankResult result =
        factorize_linear_layers(linear(transposed), {.share = 0.5, .smallest = 8});
    verify(result.graph);
    ASSERT_EQ(result.layers.size(), 1u);
    EXPECT_EQ(result.layers[0].rank, 2);
    EXPECT_EQ(result.layers[0].rows, 8);
    EXPECT_LT(result.layers[0].loss, 1e-3);
    const auto left = stored(result.graph, "layer.left");    // [8, 2]
    const auto right = stored(result.graph, "layer.right");  // [2, 12]
    const auto w = rank_two(transposed ? 12 : 8, transposed ? 8 : 12);
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 12; ++j)
        EXPECT_NEAR(left[i * 2] * right[j] + left[i * 2 + 1] * right[12 + j],
                    transposed ? w[j * 8 + i] : w[i * 12 + j], 1e-3);
    }
    EXPECT_EQ(result.graph.initializer(*result.graph.find_value("w")), nullptr);
    EXPECT_EQ(infer_shapes(result.graph).graph.value(result.graph.outputs()[0]).type.shape,
              (Shape{2, 12}));
  }
}

// The unit matrix of 8 keeps r of its 8 directions: the loss is √(1 - r/8), here r = ⌊0.5·64/16⌋
// = 2.
TEST(LowRank, WhatIsLostIsSaidAndLimited) {
  GraphBuilder builder("unit");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 8});
  std::vector<float> unit(64, 0.0f);
  for (std::size_t i = 0; i < 8; ++i) unit[i * 9] = 1;
  builder.output(
      builder.node("MatMul", "layer", {x, builder.constant("w", Tensor::of_float({8, 8}, unit))}),
      "y");
  const Graph model = builder.finish();
  const LowRankResult result =
      factorize_linear_layers(model, {.share = 0.5, .smallest = 8, .largest_loss = 0.1});
  ASSERT_EQ(result.layers.size(), 1u);
  EXPECT_NEAR(result.layers[0].loss, std::sqrt(1 - 2 / 8.0), 1e-4);
  EXPECT_FALSE(result.layers[0].factorised);
  EXPECT_EQ(result.graph, model);
}

TEST(LowRank, SmallMatricesAndOthersStay) {
  EXPECT_TRUE(factorize_linear_layers(linear(false)).layers.empty());
  EXPECT_TRUE(factorize_linear_layers(linear(false), {.smallest = 8, .layers = {{"other"}}})
                  .layers.empty());
  EXPECT_THROW(factorize_linear_layers(linear(false), {.share = 1}), Error);
}

}  // namespace
}  // namespace assay
