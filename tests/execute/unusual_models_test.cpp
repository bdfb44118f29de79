// Models that mutating files found: unusual, but valid or refused. None may read or write beyond
// its tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "assay/builder.h"
#include "assay/error.h"
#include "body_maker.h"
#include "compare_engines.h"
#include "execute/cpu/kernels/dynamic_range.h"

namespace assay {
namespace {

void expect_agreement(const Graph& graph, double tolerance) {
  const Difference difference = compare_engines(graph, {.cpu = {.threads = 1}});
  EXPECT_TRUE(difference.same_shapes) << difference.where;
  EXPECT_LE(difference.largest, tolerance) << difference.where;
}

// Truth values have eight bits, but are not numbers: they lie channels last after the first
// Transpose.
TEST(UnusualModels, TruthValuesTransposedTwiceStayAsTheyAre) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Int32, Shape{3, 4, 5});
  const ValueId y = builder.input("y", DataType::Int32, Shape{3, 4, 5});
  const std::vector<Attribute> swap = {{"perm", std::vector<std::int64_t>{0, 2, 1}}};
  const ValueId once =
      builder.node("Transpose", "once", {builder.node("Equal", "z", {x, y})}, swap);
  builder.output(builder.node("Transpose", "twice", {once}, swap), "result");
  expect_agreement(builder.finish(), 0);
}

// One matrix of 16 bits is stored, the other one comes in: both are read as floats.
TEST(UnusualModels, ARecurrentLayerMayHaveOneStoredMatrixOf16Bits) {
  const std::vector<std::uint16_t> halves(12 * 2, 0x3800);  // 0.5
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float16, Shape{1, 3, 2});
  const ValueId recurrent = builder.input("r", DataType::Float16, Shape{1, 12, 3});
  const ValueId weight =
      builder.constant("w", Tensor::of<std::uint16_t>(DataType::Float16, {1, 12, 2}, halves));
  builder.output(
      builder.node("LSTM", "lstm", {x, weight, recurrent}, {{"hidden_size", std::int64_t{3}}}),
      "y");
  expect_agreement(builder.finish(), 2e-3);
}

TEST(UnusualModels, AConditionWithoutElementsIsRefusedWhenItRuns) {
  GraphBuilder builder("net");
  const ValueId condition = builder.input("condition", DataType::Bool, Shape{0});
  const ValueId x = builder.input("x", DataType::Float32, Shape{4});
  const auto branch = [&](const char* op) {
    test::Body body;
    body.output(body.node(op, {body.capture(x)}));
    return body.finish();
  };
  builder.output(builder.node("If", "choose", {condition},
                              {{"then_branch", branch("Abs")}, {"else_branch", branch("Neg")}}),
                 "y");
  const Graph graph = builder.finish();
  EXPECT_THROW(compare_engines(graph), Error);
}

TEST(UnusualModels, AnInfiniteRangeHasAZeroPointWithinEightBits) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(cpu::scale_for({-infinity, 1}).zero_point, 0);
  EXPECT_EQ(cpu::scale_for({-infinity, infinity}).zero_point, 0);
  EXPECT_EQ(cpu::scale_for({-1, 0}).zero_point, 255);
}

}  // namespace
}  // namespace assay
