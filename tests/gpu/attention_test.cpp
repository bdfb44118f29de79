// Attention in one kernel gives what its nodes give one by one.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/bind.h"
#include "assay/builder.h"
#include "assay/zoo.h"
#include "execute/compare_engines.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

enum class Mask { None, AddedRow, AddedMatrix, Chosen };

struct Form {
  std::int64_t batch = 1, heads = 2, queries = 20, keys = 20, width = 16, value_width = 16;
  Mask mask = Mask::None;
  bool scales = false;
  bool merges_heads = true;
  bool mask_comes_late = false;
  bool keys_come_turned = false;  // [batch, heads, width, keys]
  std::optional<DataType> type = {};
};

ValueId heads_of(GraphBuilder& builder, const std::string& name, const Form& form,
                 std::int64_t tokens, std::int64_t width, const Ints& order) {
  const ValueId all =
      builder.input(name, DataType::Float32, Shape{form.batch, tokens, form.heads * width});
  const ValueId shape = builder.ints(name + ".shape", {form.batch, tokens, form.heads, width});
  const ValueId heads = builder.node("Reshape", name + ".heads", {all, shape});
  return builder.node("Transpose", name + ".turned", {heads}, {{"perm", order}});
}

// What masks need, before the scores are.
ValueId mask_of(GraphBuilder& builder, const Form& form) {
  if (form.mask == Mask::AddedRow) return builder.weight("m", {form.batch, 1, 1, form.keys}, 3);
  if (form.mask != Mask::Chosen) return builder.weight("m", {form.queries, form.keys}, 3);
  const ValueId given = builder.input("given", DataType::Float32, Shape{form.queries, form.keys});
  return builder.node("Greater", "chosen", {given, builder.scalar("zero", 0)});
}

ValueId masked(GraphBuilder& builder, ValueId scores, ValueId mask, const Form& form) {
  if (form.mask == Mask::None) return scores;
  if (form.mask != Mask::Chosen) return builder.node("Add", "mask", {mask, scores});
  const ValueId lowest = builder.scalar("lowest", -std::numeric_limits<float>::infinity());
  return builder.node("Where", "mask", {mask, scores, lowest});
}

Graph attention(const Form& form) {
  GraphBuilder builder("attention");
  const ValueId queries =
      heads_of(builder, "queries", form, form.queries, form.width, {0, 2, 1, 3});
  const ValueId keys = form.keys_come_turned
                           ? builder.input("keys", DataType::Float32,
                                           Shape{form.batch, form.heads, form.width, form.keys})
                           : heads_of(builder, "keys", form, form.keys, form.width, {0, 2, 3, 1});
  ValueId mask;
  ValueId values;
  const auto make_operands = [&] {
    values = heads_of(builder, "values", form, form.keys, form.value_width, {0, 2, 1, 3});
    if (form.mask != Mask::None) mask = mask_of(builder, form);
  };
  if (!form.mask_comes_late) make_operands();
  ValueId scores = builder.node("MatMul", "scores", {queries, keys});
  if (form.mask_comes_late) make_operands();
  if (form.scales) scores = builder.node("Mul", "scaled", {scores, builder.scalar("factor", 0.3f)});
  scores = masked(builder, scores, mask, form);
  const ValueId shares = builder.node("Softmax", "shares", {scores}, {{"axis", std::int64_t{-1}}});
  ValueId result = builder.node("MatMul", "result", {shares, values});
  if (form.merges_heads) {
    result = builder.node("Transpose", "merged", {result}, {{"perm", Ints{0, 2, 1, 3}}});
    result = builder.node("Reshape", "flat",
                          {result, builder.ints("flat.shape", {form.batch, form.queries, -1})});
  }
  builder.output(result, "output");
  return builder.finish();
}

std::string text_of(const Form& form) {
  return fmt::format("{}x{} heads, {} queries, {} keys of {}, values of {}, mask {}, {}",
                     form.batch, form.heads, form.queries, form.keys, form.width, form.value_width,
                     static_cast<int>(form.mask), form.type ? name(*form.type) : "float32");
}

// The plain kernels round scores and shares to 16 bits.
double tolerance_of(const Form& form) {
  if (!form.type) return 1e-5;
  return *form.type == DataType::BFloat16 ? 0.06 : 0.01;
}

std::vector<std::string> algorithms_of(const Graph& graph, const Form& form) {
  const auto program =
      compile(infer_shapes(graph), {.engine = kCudaEngine, .precision = form.type});
  std::vector<std::string> all;
  for (const StepInfo& step : program->steps()) all.push_back(step.algorithm);
  return all;
}

void expect_fused(const Form& form, bool is_fused = true) {
  fake_device();
  const Graph graph = attention(form);
  const auto algorithms = algorithms_of(graph, form);
  EXPECT_EQ(std::ranges::count(algorithms, "fused attention"), is_fused ? 1 : 0) << text_of(form);
  const Difference difference =
      compare_engines(graph, {.engine = kCudaEngine, .precision = form.type});
  EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << text_of(form);
  EXPECT_LE(difference.largest, tolerance_of(form)) << text_of(form) << " " << difference.where;
}

const std::vector<std::optional<DataType>> kTypes = {std::nullopt, DataType::Float16,
                                                     DataType::BFloat16};

TEST(CudaAttention, HoldsForAnyCountOfTokens) {
  for (const auto type : kTypes) {
    expect_fused({.queries = 197, .keys = 197, .width = 64, .value_width = 64, .type = type});
    expect_fused({.queries = 9, .keys = 65, .type = type});
    expect_fused({.queries = 33, .keys = 1, .type = type});
    expect_fused({.batch = 2, .heads = 40, .queries = 70, .keys = 130, .type = type});
  }
}

TEST(CudaAttention, HoldsForWidthsThatAreMultiplesOf8) {
  for (const auto type : kTypes) {
    expect_fused({.width = 8, .value_width = 24, .type = type});
    expect_fused({.width = 72, .value_width = 40, .type = type});
    expect_fused({.keys = 70, .width = 128, .value_width = 128, .type = type});
  }
}

TEST(CudaAttention, LeavesFewQueriesOverManyKeysToTheirNodes) {
  expect_fused({.queries = 1}, false);
  expect_fused({.heads = 1, .queries = 8, .keys = 2049, .width = 8, .value_width = 8}, false);
}

TEST(CudaAttention, LeavesOtherWidthsToTheirNodes) {
  expect_fused({.width = 12}, false);
  expect_fused({.value_width = 136}, false);
}

TEST(CudaAttention, AppliesScalesAndMasks) {
  for (const auto type : kTypes) {
    for (const Mask mask : {Mask::None, Mask::AddedRow, Mask::AddedMatrix, Mask::Chosen})
      expect_fused(
          {.batch = 2, .queries = 37, .keys = 75, .mask = mask, .scales = true, .type = type});
  }
}

TEST(CudaAttention, ComputesMasksAndValuesFirst) {
  for (const Mask mask : {Mask::AddedMatrix, Mask::Chosen})
    expect_fused({.mask = mask, .mask_comes_late = true});
}

TEST(CudaAttention, ReadsKeysInAnyOrder) {
  for (const auto type : kTypes)
    expect_fused({.keys = 75, .merges_heads = false, .keys_come_turned = true, .type = type});
}

// A query that may look at nothing has no shares, and others see no keys that are left out.
TEST(CudaAttention, GivesNanWhereEverythingIsLeftOut) {
  fake_device();
  const Form form{.queries = 16, .keys = 70, .mask = Mask::Chosen};
  const Inferred model = infer_shapes(attention(form));
  std::vector<Tensor> inputs;
  for (const ValueId id : model.graph.inputs()) {
    const Ints dims = model.graph.value(id).type.shape->values();
    std::vector<float> numbers(static_cast<std::size_t>(*Shape(dims).elements()));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = std::sin(static_cast<float>(i * (inputs.size() + 1)));
    if (inputs.size() == 3) std::fill_n(numbers.begin(), 2 * 70, -1.0f);
    inputs.push_back(Tensor::of_float(dims, numbers));
  }
  std::vector<std::vector<Tensor>> results;
  for (const char* engine : {kCudaEngine, "reference"}) {
    const auto program = compile(model, {.engine = engine});
    program->set_inputs(inputs);
    program->run();
    results.push_back(program->results());
  }
  EXPECT_TRUE(std::isnan(results[0][0].to_vector<float>()[0]));
  const Difference difference = compare_results(results[0], results[1]);
  EXPECT_TRUE(difference.same_non_finite);
  EXPECT_LE(difference.largest, 1e-5);
}

TEST(CudaAttention, TakesOneStepAndNoCopiesInAnEncoder) {
  fake_device();
  const Graph graph = bind_inputs(zoo_model("encoder:layers=1"), {}).graph;
  const auto program = compile(infer_shapes(graph), {.engine = kCudaEngine});
  std::int64_t fused = 0;
  for (const StepInfo& step : program->steps()) {
    fused += step.algorithm == "fused attention" ? 1 : 0;
    EXPECT_NE(step.algorithm, "copy") << step.name;
  }
  EXPECT_EQ(fused, 1);
}

TEST(CudaAttention, CountsBothProductsAndTheSoftmax) {
  fake_device();
  const auto program =
      compile(infer_shapes(attention({.queries = 20, .keys = 30, .width = 16, .value_width = 8})),
              {.engine = kCudaEngine});
  for (const StepInfo& step : program->steps()) {
    if (step.algorithm != "fused attention") continue;
    EXPECT_EQ(step.executed_flops, 2 * 20 * 30 * (2 * 16 + 2 * 8 + 5));  // 2 heads
    EXPECT_EQ(step.layers.size(), 3U);
  }
}

// The heads of several samples lie in no single stride: they are copied for the library.
TEST(CudaAttention, CopiesHeadsThatTheLibraryCannotRead) {
  const FakeSetting libraries("FAKE_CUDA_LIBRARIES", "1");
  expect_fused({.batch = 2, .width = 12, .value_width = 12}, false);
  expect_fused({.width = 12, .value_width = 12}, false);
}

}  // namespace
}  // namespace assay
