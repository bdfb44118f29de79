// What decoding runs on the GPU: attention of one token over a cache, products of a few rows, and a
// whole step in 16 bits.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "assay/builder.h"
#include "assay/decode.h"
#include "assay/zoo.h"
#include "execute/cached_attention_graph.h"
#include "execute/compare_engines.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

struct CacheForm {
  std::int64_t capacity = 9;
  std::int64_t width = 32;
  std::optional<DataType> type = {};
};

// Rows are read in blocks of 64: before, at and behind their borders; a run may go back.
void expect_attention(const CacheForm& form, const char* algorithm) {
  fake_device();
  const CachedAttentionForm shape{.capacity = form.capacity, .width = form.width};
  CachedAttentionRuns own(shape, kCudaEngine, form.type);
  CachedAttentionRuns plain(shape, "reference");
  const double tolerance = !form.type ? 1e-5 : *form.type == DataType::BFloat16 ? 0.03 : 0.005;
  const std::string what = fmt::format("capacity {}, width {}", form.capacity, form.width);
  for (const std::int64_t position :
       {std::int64_t{0}, std::int64_t{1}, form.capacity / 2, std::int64_t{5}, form.capacity - 1}) {
    const auto difference = compare_results(own.at(position), plain.at(position));
    EXPECT_LT(difference.largest, tolerance) << what << ", position " << position;
  }
  EXPECT_LT(compare_results(own.program().state_values(), plain.program().state_values()).largest,
            tolerance)
      << what;
  const std::int64_t cache_bytes = 2 * 3 * form.capacity * form.width * 2;
  for (const StepInfo& step : own.program().steps()) {
    if (step.op == "CachedAttention") {
      EXPECT_EQ(step.algorithm, algorithm) << what;
    }
    // Nothing copies or converts a cache.
    EXPECT_LT(step.bytes_written, cache_bytes) << what << " " << step.name;
  }
}

TEST(CudaDecoding, ATokenAttendsToACacheInPlace) {
  for (const auto type : {std::optional<DataType>(), std::optional(DataType::Float16),
                          std::optional(DataType::BFloat16)}) {
    expect_attention({.capacity = 60, .width = 32, .type = type}, "in place");
    expect_attention({.capacity = 64, .width = 64, .type = type}, "in place");
  }
}

TEST(CudaDecoding, BlocksShareALongCache) {
  expect_attention({.capacity = 130, .width = 32}, "in place, split");
  expect_attention({.capacity = 200, .width = 64, .type = DataType::Float16}, "in place, split");
  expect_attention({.capacity = 2500, .width = 32, .type = DataType::Float16}, "in place, split");
}

struct ProductForm {
  std::int64_t rows = 1;
  std::int64_t depth = 64;
  std::int64_t columns = 24;
  bool has_norm = false;
  bool adds = true;
  bool is_gemm = false;
  bool turns = false;  // the weights of a Gemm
  std::optional<DataType> type = {};
};

Graph product(const ProductForm& form) {
  GraphBuilder builder("product");
  const Shape shape = form.is_gemm ? Shape{form.rows, form.depth} : Shape{1, form.rows, form.depth};
  ValueId x = builder.input("x", DataType::Float32, shape);
  if (form.has_norm)
    x = builder.node(
        "LayerNormalization", "norm",
        {x, builder.weight("scale", {form.depth}, 1), builder.weight("shift", {form.depth}, 1)});
  const ValueId weight = form.turns ? builder.weight("weight", {form.columns, form.depth}, 1)
                                    : builder.weight("weight", {form.depth, form.columns}, 1);
  const ValueId bias = builder.weight("bias", {form.columns}, 1);
  if (form.is_gemm) {
    x = builder.node("Gemm", "product", {x, weight, bias},
                     {{"transB", std::int64_t{form.turns ? 1 : 0}}, {"alpha", 0.5f}});
  } else {
    x = builder.node("Add", "biased", {builder.node("MatMul", "product", {x, weight}), bias});
  }
  if (form.adds) {
    const ValueId added = builder.input(
        "added", DataType::Float32,
        form.is_gemm ? Shape{form.rows, form.columns} : Shape{1, form.rows, form.columns});
    x = builder.node("Add", "sum", {builder.node("Gelu", "gelu", {x}), added});
  }
  builder.output(x, "result");
  return builder.finish();
}

void expect_product(const ProductForm& form, const char* algorithm) {
  fake_device();
  const Graph graph = product(form);
  const ProgramOptions options{.engine = kCudaEngine, .precision = form.type};
  const std::string what = fmt::format("{} rows of {} by {}", form.rows, form.depth, form.columns);
  const auto program = compile(infer_shapes(graph), options);
  for (const StepInfo& step : program->steps()) {
    EXPECT_NE(step.op, "LayerNormalization") << what;
    if (step.op == "MatMul" || step.op == "Gemm") {
      EXPECT_EQ(step.algorithm, algorithm) << what;
    }
  }
  const Difference difference = compare_engines(graph, options);
  EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << what;
  const double tolerance = !form.type ? 2e-5 : *form.type == DataType::BFloat16 ? 0.03 : 0.005;
  EXPECT_LE(difference.largest, tolerance) << what << " " << difference.where;
}

TEST(CudaDecoding, AFewRowsReadTheirWeightsOnce) {
  for (const auto type : {std::optional<DataType>(), std::optional(DataType::Float16),
                          std::optional(DataType::BFloat16)}) {
    for (const std::int64_t rows : {1, 2, 4})
      expect_product({.rows = rows, .depth = 264, .columns = 70, .type = type}, "own few rows");
    expect_product({.depth = 3072, .columns = 40, .type = type}, "own few rows");
    expect_product({.rows = 3, .depth = 1000, .columns = 9, .type = type}, "own few rows");
    expect_product({.adds = false, .is_gemm = true, .turns = true, .type = type}, "own few rows");
    expect_product({.rows = 2, .is_gemm = true, .type = type}, "own few rows");
  }
}

// So many columns that blocks take several turns.
TEST(CudaDecoding, AFewRowsByManyColumns) {
  expect_product({.depth = 16, .columns = 9000}, "own few rows");
  expect_product({.depth = 2056, .columns = 1100}, "own few rows");
}

TEST(CudaDecoding, AWarpNormalisesItsRows) {
  for (const auto type : {std::optional<DataType>(), std::optional(DataType::Float16)}) {
    expect_product({.depth = 768, .columns = 50, .has_norm = true, .type = type},
                   "own few rows, normalised");
    expect_product({.rows = 3, .depth = 40, .has_norm = true, .adds = false, .type = type},
                   "own few rows, normalised");
  }
}

TEST(CudaDecoding, GivesTheTokensOfTheProcessor) {
  fake_device();
  const std::vector<std::int64_t> prompt = {464, 3280};
  const Graph model = zoo_model("gpt2_small_decode:layers=1");
  const Decoded expected = decode(model, prompt, {.steps = 4});
  for (const auto type : {std::optional<DataType>(), std::optional(DataType::Float16)}) {
    const Decoded own =
        decode(model, prompt, {.steps = 4, .program = {.engine = kCudaEngine, .precision = type}});
    EXPECT_EQ(own.tokens, expected.tokens);
    double largest = 0;
    for (const float score : expected.last_scores)
      largest = std::max(largest, std::abs(static_cast<double>(score)));
    for (std::size_t i = 0; i < expected.last_scores.size(); ++i)
      ASSERT_NEAR(own.last_scores[i], expected.last_scores[i], (type ? 5e-3 : 1e-4) * largest);
  }
}

}  // namespace
}  // namespace assay
