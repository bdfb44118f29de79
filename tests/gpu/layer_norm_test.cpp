// Rows that a warp holds, and those that a block reads several times, are normalised alike.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "execute/compare_engines.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

struct NormForm {
  std::int64_t rows = 5;
  std::int64_t width = 64;
  bool has_shift = true;
  bool turns = false;  // rows lie a column apart
  std::optional<DataType> type = {};
};

Graph norm_and_sum(const NormForm& form) {
  GraphBuilder builder("norm");
  const Shape shape =
      form.turns ? Shape{2, form.width, form.rows} : Shape{2, form.rows, form.width};
  ValueId x = builder.input("x", DataType::Float32, shape);
  if (form.turns)
    x = builder.node("Transpose", "turned", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  std::vector<ValueId> inputs = {x, builder.weight("scale", {form.width}, 1)};
  if (form.has_shift) inputs.push_back(builder.weight("shift", {form.width}, 1));
  const ValueId normalised = builder.node("LayerNormalization", "norm", inputs);
  const ValueId sum =
      builder.node("Add", "sum", {normalised, builder.weight("added", {form.rows, 1}, 1)});
  builder.output(builder.node("Relu", "relu", {sum}), "output");
  return builder.finish();
}

void expect_normalised(const NormForm& form, const char* algorithm) {
  fake_device();
  const Graph graph = norm_and_sum(form);
  const ProgramOptions options{.engine = kCudaEngine, .precision = form.type};
  const std::string what = fmt::format("{} rows of {}, {}", form.rows, form.width,
                                       form.type ? name(*form.type) : "float32");
  const auto program = compile(infer_shapes(graph), options);
  for (const StepInfo& step : program->steps())
    if (step.op == "LayerNormalization") {
      EXPECT_EQ(step.algorithm, algorithm) << what;
    }
  const Difference difference = compare_engines(graph, options);
  EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << what;
  const double tolerance = !form.type ? 1e-5 : *form.type == DataType::BFloat16 ? 0.03 : 0.005;
  EXPECT_LE(difference.largest, tolerance) << what << " " << difference.where;
}

TEST(CudaLayerNorm, HoldsShortRowsInRegisters) {
  for (const auto type : {std::optional<DataType>(), std::optional(DataType::Float16),
                          std::optional(DataType::BFloat16)}) {
    for (const std::int64_t width : {8, 40, 256, 768, 1024})
      expect_normalised({.width = width, .type = type}, "own warps");
    expect_normalised({.has_shift = false, .type = type}, "own warps");
    expect_normalised({.rows = 700, .width = 16, .type = type}, "own warps");
  }
}

TEST(CudaLayerNorm, ReadsOtherRowsByABlock) {
  expect_normalised({.width = 1032}, "own rows");
  expect_normalised({.width = 18}, "own rows");
  expect_normalised({.width = 18, .type = DataType::Float16}, "own rows");
  expect_normalised({.turns = true}, "own rows");
}

}  // namespace
}  // namespace assay
