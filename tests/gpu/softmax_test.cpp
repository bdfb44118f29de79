// Rows that a warp holds, and those that a block reads several times, have the same softmax.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "execute/compare_engines.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

Graph softmax_and_product(const char* op, const Shape& shape, std::int64_t axis) {
  GraphBuilder builder("softmax");
  const ValueId x = builder.input("x", DataType::Float32, shape);
  const ValueId y = builder.node(op, "softmax", {x}, {{"axis", axis}});
  builder.output(builder.node("Mul", "product", {y, builder.weight("factor", {1}, 1)}), "output");
  return builder.finish();
}

void expect_softmax(const char* op, const Shape& shape, std::int64_t axis, const char* algorithm,
                    std::optional<DataType> type = {}) {
  fake_device();
  const Graph graph = softmax_and_product(op, shape, axis);
  const ProgramOptions options{.engine = kCudaEngine, .precision = type};
  const std::string what = fmt::format("{} {}", op, type ? name(*type) : "float32");
  const auto program = compile(infer_shapes(graph), options);
  bool is_there = false;
  for (const StepInfo& step : program->steps()) is_there |= step.algorithm == algorithm;
  EXPECT_TRUE(is_there) << what;
  const Difference difference = compare_engines(graph, options);
  EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << what;
  EXPECT_LE(difference.largest, type ? 0.03 : 1e-5) << what << " " << difference.where;
}

TEST(CudaSoftmax, HoldsManyShortRowsInRegisters) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t width : {1, 31, 197, 1024})
      expect_softmax(op, Shape{2, 150, width}, -1, "own warps");
    for (const DataType type : {DataType::Float16, DataType::BFloat16})
      expect_softmax(op, Shape{2, 150, 197}, -1, "own warps", type);
  }
}

TEST(CudaSoftmax, ReadsOtherRowsByABlock) {
  expect_softmax("Softmax", Shape{300, 1025}, -1, "own rows");
  expect_softmax("Softmax", Shape{1, 1000}, -1, "own rows");
  expect_softmax("Softmax", Shape{20, 40, 30}, 1, "own rows");
}

}  // namespace
}  // namespace assay
