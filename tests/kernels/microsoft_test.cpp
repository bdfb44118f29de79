// The fused operators of com.microsoft, and how kernels are found by domain.
#include <cmath>

#include "kernels/kernel_runner.h"

namespace assay {

using namespace assay::kernels;

namespace {

Case fused(const char* op, std::vector<Tensor> inputs, std::vector<Attribute> attributes = {},
           std::size_t outputs = 1) {
  return {op, std::move(inputs), std::move(attributes), 1, outputs, "com.microsoft"};
}

Node named(const char* op, const char* domain) {
  return Node{.name = "", .op = op, .domain = domain};
}

TEST(Domains, HaveTablesOfTheirOwn) {
  EXPECT_TRUE(has_kernel(named("FusedConv", "com.microsoft")));
  EXPECT_FALSE(has_kernel(named("FusedConv", "")));
  EXPECT_FALSE(has_kernel(named("Conv", "com.microsoft")));
  EXPECT_TRUE(has_kernel(named("Conv", "ai.onnx")));
  EXPECT_FALSE(has_kernel(named("Conv", "org.example")));
}

TEST(Domains, OnlyPlainWorkIsInProportion) {
  EXPECT_TRUE(works_in_proportion(named("Add", "")));
  EXPECT_FALSE(works_in_proportion(named("Conv", "")));
  EXPECT_FALSE(works_in_proportion(named("Einsum", "")));
  EXPECT_FALSE(works_in_proportion(named("FusedConv", "com.microsoft")));
}

TEST(Fused, ConvolutionAddsThenActivates) {
  const Tensor line = real_tensor({1, 1, 2}, {1, -2});
  const Tensor weight = real_tensor({1, 1, 1}, {3});
  const Tensor sum = real_tensor({1, 1, 2}, {-5, 1});
  const Attribute alpha = {"activation_params", std::vector<float>{0.5f}};
  const Case test =
      fused("FusedConv", {line, weight, Tensor(), sum}, {text("activation", "LeakyRelu"), alpha});
  EXPECT_EQ(result_of(test).to_double(), (Numbers{-2 * 0.5, -5 * 0.5}));
  const Attribute bounds = {"activation_params", std::vector<float>{0, 2}};
  const Case clipped = fused("FusedConv", {line, weight}, {text("activation", "Clip"), bounds});
  EXPECT_EQ(result_of(clipped).to_double(), (Numbers{2, 0}));
  EXPECT_THROW(result_of(fused("FusedConv", {line, weight}, {text("activation", "Wavy")})), Error);
}

TEST(Fused, ProductsScaleTransposeAndActivate) {
  const Tensor row = real_tensor({1, 2}, {1, -2});
  EXPECT_EQ(
      result_of(fused("FusedMatMul", {row, row}, {number("transB", 1), real_number("alpha", 10)}))
          .to_double(),
      (Numbers{50}));
  EXPECT_EQ(
      result_of(fused("FusedGemm", {row, row}, {number("transA", 1), text("activation", "Relu")}))
          .to_double(),
      (Numbers{1, 0, 0, 4}));
}

TEST(Fused, GelusAddTheirBiasFirst) {
  const Tensor input = real_tensor({1, 2}, {0.5f, 1});
  const Tensor bias = real_tensor({2}, {0.5f, 0});
  const double one = 0.5 * (1 + std::erf(1 / std::sqrt(2.0)));
  expect_near(result_of(fused("BiasGelu", {input, bias})), {one, one});
  const double fast = 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (1 + 0.044715)));
  expect_near(result_of(fused("FastGelu", {input, bias})), {fast, fast});
  expect_near(result_of(fused("QuickGelu", {real_tensor({1}, {1})})), {1 / (1 + std::exp(-1.702))});
}

TEST(Fused, SkipNormalisationAlsoGivesTheSum) {
  const Tensor input = real_tensor({1, 2}, {1, 2});
  const Tensor skip = real_tensor({1, 2}, {0, 3});
  const Tensor gamma = real_tensor({2}, {1, 10});
  const auto outputs = outputs_of(fused("SkipLayerNormalization", {input, skip, gamma}, {}, 4));
  EXPECT_EQ(outputs[3].to_double(), (Numbers{1, 5}));
  expect_near(outputs[0], {-1, 10});  // mean 3, deviation 2
  const auto simple = outputs_of(fused("SkipSimplifiedLayerNormalization",
                                       {input, real_tensor({1, 2}, {0, 5}), gamma}, {}, 4));
  expect_near(simple[0], {1 / 5.0, 7 / 5.0 * 10});  // mean square of 1 and 7: 25
}

TEST(Fused, EmbeddingsAreSummedAndNormalised) {
  const auto ids = [](std::vector<std::int32_t> values) {
    return whole_tensor<std::int32_t>(DataType::Int32, {1, 2}, values);
  };
  const Tensor words = real_tensor({2, 2}, {1, 2, 3, 4});
  const Tensor places = real_tensor({2, 2}, {10, 20, 30, 60});
  const Tensor segments = real_tensor({1, 2}, {0, 0});
  const Tensor one = real_tensor({2}, {1, 1});
  const Tensor zero = real_tensor({2}, {0, 0});
  const auto outputs = outputs_of(
      fused("EmbedLayerNormalization",
            {ids({1, 0}), ids({0, 0}), words, places, segments, one, zero, ids({1, 0})}, {}, 3));
  EXPECT_EQ(outputs[2].to_double(), (Numbers{3 + 10, 4 + 20, 1 + 30, 2 + 60}));
  expect_near(outputs[0], {-1, 1, -1, 1});
  EXPECT_EQ(outputs[1].to_int64(), (Sizes{1}));
  EXPECT_THROW(
      outputs_of(fused("EmbedLayerNormalization",
                       {ids({2, 0}), Tensor(), words, places, Tensor(), one, zero}, {}, 3)),
      Error);
}

}  // namespace
}  // namespace assay
