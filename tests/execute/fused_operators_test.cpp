// ONNX Runtime's fused operators on the fast engine: none falls back, and results are those of the
// plain kernels, or of the formula written out where there is no plain kernel.
#include <gtest/gtest.h>

#include <cmath>

#include "execute/compare_engines.h"
#include "execute/one_fused_node.h"

namespace assay {
namespace {

Tensor whole_numbers(const Dims& dims, const std::vector<std::int32_t>& numbers) {
  return Tensor::of<std::int32_t>(DataType::Int32, dims, numbers);
}

TEST(FusedOperators, ConvolutionWithSumAndActivation) {
  for (const char* activation : {"Relu", "Clip", "LeakyRelu", "HardSigmoid"}) {
    OneFusedNode node("FusedConv");
    node.floats({1, 3, 8, 8}).weights({5, 3, 3, 3}).weights({5}).floats({1, 5, 8, 8});
    node.set("pads", std::vector<std::int64_t>{1, 1, 1, 1}).set("activation", activation);
    if (std::string(activation) == "Clip")
      node.set("activation_params", std::vector<float>{-0.25f, 0.5f});
    if (std::string(activation) == "LeakyRelu")
      node.set("activation_params", std::vector<float>{0.1f});
    if (std::string(activation) == "HardSigmoid")
      node.set("activation_params", std::vector<float>{0.3f, 0.4f});
    SCOPED_TRACE(activation);
    expect_same_on_any_threads(node.graph(), node.inputs);
  }
}

TEST(FusedOperators, GemmWithActivation) {
  OneFusedNode node("FusedGemm");
  node.floats({4, 6}).weights({8, 6}).weights({8});
  node.set("transB", std::int64_t{1}).set("activation", "LeakyRelu");
  node.set("activation_alpha", 0.2f);
  expect_same_on_any_threads(node.graph(), node.inputs);
}

TEST(FusedOperators, Gelus) {
  for (const char* op : {"Gelu", "BiasGelu", "FastGelu", "QuickGelu"}) {
    OneFusedNode node(op);
    node.floats({2, 3, 16});
    if (std::string(op) == "BiasGelu" || std::string(op) == "FastGelu") node.weights({16});
    SCOPED_TRACE(op);
    expect_same_on_any_threads(node.graph(), node.inputs);
  }
}

TEST(FusedOperators, NormalizationOfASum) {
  for (const bool has_bias : {false, true}) {
    OneFusedNode node("SkipLayerNormalization");
    node.floats({2, 5, 16}).floats({2, 5, 16}).weights({16}).weights({16});
    if (has_bias) node.weights({16});
    expect_same_on_any_threads(node.graph(), node.inputs);
    OneFusedNode simplified("SkipSimplifiedLayerNormalization");
    simplified.floats({2, 5, 16}).floats({2, 5, 16}).weights({16});
    if (has_bias) simplified.weights({16});
    simplified.set("epsilon", 1e-5f);
    expect_same_on_any_threads(simplified.graph(), simplified.inputs);
  }
}

TEST(FusedOperators, EmbeddingsThatAreNormalized) {
  OneFusedNode node("EmbedLayerNormalization");
  node.input(whole_numbers({2, 3}, {0, 4, 2, 1, 1, 3}))
      .input(whole_numbers({2, 3}, {0, 0, 1, 1, 0, 1}));
  node.weights({5, 8}).weights({4, 8}).weights({2, 8}).weights({8}).weights({8});
  expect_same_on_any_threads(node.graph(), node.inputs);
}

TEST(FusedOperators, DynamicallyQuantizedProduct) {
  for (const bool has_bias : {false, true}) {
    OneFusedNode node("DynamicQuantizeMatMul");
    node.floats({3, 4, 32}).bytes<std::int8_t>(DataType::Int8, {32, 24}, true, -127, 127);
    node.constant(Tensor::of<float>(DataType::Float32, {}, std::vector{0.01f}));
    node.constant(Tensor::of<std::int8_t>(DataType::Int8, {}, std::vector<std::int8_t>{0}));
    if (has_bias) node.weights({24});
    expect_same_on_any_threads(node.graph(), node.inputs);
  }
}

struct IntegerConvolutionCase {
  Dims input, weights;
  std::vector<std::int64_t> pads;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  int weight_zero_point = 0;
};

// Sums of integers: equal to the last bit.
TEST(FusedOperators, ConvolutionOfIntegers) {
  const std::vector<IntegerConvolutionCase> cases = {
      {{1, 3, 9, 9}, {8, 3, 3, 3}, {1, 1, 1, 1}, 1, 1, 128},
      {{2, 4, 7, 8}, {6, 4, 3, 3}, {0, 1, 2, 1}, 2, 1, 90},
      {{1, 8, 6, 6}, {8, 1, 3, 3}, {1, 1, 1, 1}, 1, 8, 100},
      {{1, 16, 5, 5}, {32, 16, 1, 1}, {0, 0, 0, 0}, 1, 1, 128},
      {{1, 4, 20}, {8, 4, 5}, {2, 2}, 1, 1, 120},
  };
  for (const auto& one : cases) {
    OneFusedNode node("ConvInteger");
    node.standard().bytes<std::uint8_t>(DataType::UInt8, one.input, false, 0, 255);
    node.bytes<std::uint8_t>(DataType::UInt8, one.weights, true, 0, 255);
    node.bytes<std::uint8_t>(DataType::UInt8, {}, false, 77, 77);
    node.bytes<std::uint8_t>(DataType::UInt8, {}, true, one.weight_zero_point,
                             one.weight_zero_point);
    node.set("pads", one.pads).set("group", one.groups);
    node.set("strides", std::vector<std::int64_t>(one.input.size() - 2, one.stride));
    const Inferred model = infer_shapes(node.graph());
    const auto fast = compile(model);
    const auto reference = compile(model, {.engine = "reference"});
    for (const auto& program : {fast.get(), reference.get()}) {
      program->set_inputs(node.inputs);
      program->run();
    }
    for (const StepInfo& step : fast->steps()) EXPECT_EQ(avoidable_fallback(step), "") << step.op;
    EXPECT_EQ(fast->results(), reference->results());
  }
}

TEST(FusedOperators, ImagesOfBytesAreResized) {
  for (const char* mode : {"nearest", "linear"}) {
    OneFusedNode node("Resize");
    node.standard().bytes<std::uint8_t>(DataType::UInt8, {1, 16, 4, 6}, false, 0, 255);
    node.missing().constant(Tensor::of_float({4}, {1, 1, 2, 2})).set("mode", std::string(mode));
    expect_same_on_any_threads(node.graph(), node.inputs);
  }
}

enum class MaskKind { None, Ends, EndsAndStarts, Keys, Pairs };

Tensor mask_of(MaskKind mask) {  // for two samples, three queries and three keys
  switch (mask) {
    case MaskKind::Ends:
      return whole_numbers({2}, {2, 3});
    case MaskKind::EndsAndStarts:
      return whole_numbers({4}, {3, 2, 1, 0});
    case MaskKind::Pairs:
      return whole_numbers({2, 3, 3}, {1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1});
    default:
      return whole_numbers({2, 3}, {1, 1, 0, 1, 1, 1});
  }
}

TEST(FusedOperators, QuantizedAttentionWithEveryMask) {
  for (const MaskKind mask :
       {MaskKind::None, MaskKind::Ends, MaskKind::EndsAndStarts, MaskKind::Keys, MaskKind::Pairs}) {
    for (const std::int64_t causal : {0, 1}) {
      OneFusedNode node("QAttention");
      node.bytes<std::uint8_t>(DataType::UInt8, {2, 3, 16}, false, 0, 255);
      node.bytes<std::int8_t>(DataType::Int8, {16, 24}, true, -100, 100);
      node.weights({24});
      node.constant(Tensor::of<float>(DataType::Float32, {}, std::vector{0.01f}));
      node.constant(Tensor::of<float>(DataType::Float32, {}, std::vector{0.02f}));
      if (mask == MaskKind::None) {
        node.missing();
      } else {
        node.input(mask_of(mask));
      }
      node.bytes<std::uint8_t>(DataType::UInt8, {}, true, 120, 120);
      node.bytes<std::int8_t>(DataType::Int8, {}, true, 0, 0);
      node.set("num_heads", std::int64_t{2}).set("unidirectional", causal);
      SCOPED_TRACE(static_cast<int>(mask));
      expect_same_on_any_threads(node.graph(), node.inputs);
    }
  }
}

TEST(FusedOperators, QuantizedAttentionWithAPast) {
  OneFusedNode node("QAttention");
  node.bytes<std::uint8_t>(DataType::UInt8, {2, 3, 16}, false, 0, 255);
  node.bytes<std::int8_t>(DataType::Int8, {16, 24}, true, -100, 100);
  node.weights({24});
  node.constant(Tensor::of<float>(DataType::Float32, {}, std::vector{0.01f}));
  node.constant(Tensor::of<float>(DataType::Float32, {}, std::vector{0.02f}));
  node.missing();
  node.bytes<std::uint8_t>(DataType::UInt8, {}, true, 120, 120);
  node.bytes<std::int8_t>(DataType::Int8, {}, true, 0, 0);
  node.floats({2, 2, 2, 5, 4});
  node.set("num_heads", std::int64_t{2}).set("unidirectional", std::int64_t{1});
  expect_same_on_any_threads(node.graph(2), node.inputs);
}

TEST(FusedOperators, AttentionWithEveryMask) {
  for (const MaskKind mask :
       {MaskKind::None, MaskKind::Ends, MaskKind::EndsAndStarts, MaskKind::Keys, MaskKind::Pairs}) {
    for (const std::int64_t causal : {0, 1}) {
      OneFusedNode node("Attention");
      node.floats({2, 3, 16}).weights({16, 28}).weights({28});
      if (mask == MaskKind::None) {
        node.missing();
      } else {
        node.input(mask_of(mask));
      }
      node.missing().floats({1, 2, 3, 3});
      node.set("qkv_hidden_sizes", std::vector<std::int64_t>{8, 8, 12}).set("scale", 0.3f);
      node.set("num_heads", std::int64_t{2}).set("unidirectional", causal);
      SCOPED_TRACE(static_cast<int>(mask));
      expect_same_on_any_threads(node.graph(), node.inputs);
    }
  }
}

TEST(FusedOperators, AttentionWithAPast) {
  OneFusedNode node("Attention");
  node.floats({2, 3, 16}).weights({16, 24}).weights({24}).missing().floats({2, 2, 2, 5, 4});
  node.set("num_heads", std::int64_t{2}).set("unidirectional", std::int64_t{1});
  expect_same_on_any_threads(node.graph(2), node.inputs);
}

TEST(FusedOperators, AttentionOfSeveralHeadsWithBiasMaskAndPast) {
  OneFusedNode node("MultiHeadAttention");
  node.floats({2, 3, 8}).floats({2, 4, 8}).floats({2, 4, 12}).weights({28});
  node.input(whole_numbers({2, 6}, {1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0}));
  node.missing().floats({2, 2, 2, 4}).floats({2, 2, 2, 6});
  node.set("num_heads", std::int64_t{2});
  expect_same_on_any_threads(node.graph(3), node.inputs);
}

struct HeadCounts {
  std::int64_t batch = 2, queries = 3, keys = 4, heads = 2, width = 5;
};

// softmax(Q·Kᵀ/√width)·V, for (batch, positions, heads · width).
std::vector<double> plain_attention(const HeadCounts& sizes, const std::vector<double>& q,
                                    const std::vector<double>& k, const std::vector<double>& v) {
  const auto at = [&](std::int64_t sample, std::int64_t positions, std::int64_t position,
                      std::int64_t head) {
    return static_cast<std::size_t>(((sample * positions + position) * sizes.heads + head) *
                                    sizes.width);
  };
  std::vector<double> results(q.size(), 0);
  for (std::int64_t i = 0; i < sizes.batch * sizes.heads * sizes.queries; ++i) {
    const std::int64_t query = i % sizes.queries;
    const std::int64_t head = i / sizes.queries % sizes.heads;
    const std::int64_t sample = i / sizes.queries / sizes.heads;
    const std::size_t from = at(sample, sizes.queries, query, head);
    std::vector<double> shares;
    double sum = 0;
    for (std::int64_t key = 0; key < sizes.keys; ++key) {
      double score = 0;
      for (std::int64_t c = 0; c < sizes.width; ++c)
        score += q[from + static_cast<std::size_t>(c)] *
                 k[at(sample, sizes.keys, key, head) + static_cast<std::size_t>(c)];
      shares.push_back(std::exp(score / std::sqrt(static_cast<double>(sizes.width))));
      sum += shares.back();
    }
    for (std::int64_t key = 0; key < sizes.keys; ++key) {
      for (std::int64_t c = 0; c < sizes.width; ++c)
        results[from + static_cast<std::size_t>(c)] +=
            shares[static_cast<std::size_t>(key)] / sum *
            v[at(sample, sizes.keys, key, head) + static_cast<std::size_t>(c)];
    }
  }
  return results;
}

TEST(FusedOperators, AttentionOfSeveralHeads) {
  const HeadCounts sizes;
  const std::int64_t wide = sizes.heads * sizes.width;
  OneFusedNode node("MultiHeadAttention");
  node.floats({sizes.batch, sizes.queries, wide}).floats({sizes.batch, sizes.keys, wide});
  node.floats({sizes.batch, sizes.keys, wide}).set("num_heads", sizes.heads);
  const auto program = compile(infer_shapes(node.graph()));
  for (const StepInfo& step : program->steps()) EXPECT_EQ(step.fell_back, "") << step.op;
  program->set_inputs(node.inputs);
  program->run();
  const auto expected = plain_attention(sizes, node.inputs[0].to_double(),
                                        node.inputs[1].to_double(), node.inputs[2].to_double());
  const auto results = program->results()[0].to_double();
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_NEAR(results[i], expected[i], 1e-5) << i;
}

// Weights that copy the input three times: queries, keys and values are the input itself.
TEST(FusedOperators, AttentionProjectsItsInput) {
  const HeadCounts sizes{.keys = 3};
  const std::int64_t wide = sizes.heads * sizes.width;
  std::vector<float> identity(static_cast<std::size_t>(wide * 3 * wide), 0.0f);
  for (std::int64_t i = 0; i < 3 * wide; ++i)
    identity[static_cast<std::size_t>(i % wide * 3 * wide + i)] = 1;
  OneFusedNode node("Attention");
  node.floats({sizes.batch, sizes.queries, wide});
  node.constant(Tensor::of<float>(DataType::Float32, {wide, 3 * wide}, identity));
  node.constant(Tensor::of<float>(DataType::Float32, {3 * wide},
                                  std::vector<float>(static_cast<std::size_t>(3 * wide), 0.0f)));
  node.set("num_heads", sizes.heads);
  const auto program = compile(infer_shapes(node.graph()));
  for (const StepInfo& step : program->steps()) {
    EXPECT_EQ(step.fell_back, "") << step.op;
    EXPECT_EQ(step.name, "fused");
  }
  program->set_inputs(node.inputs);
  program->run();
  const auto x = node.inputs[0].to_double();
  const auto expected = plain_attention(sizes, x, x, x);
  const auto results = program->results()[0].to_double();
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_NEAR(results[i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace assay
