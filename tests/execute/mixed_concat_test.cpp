// A Concat of convolutions that leave their results in different layouts.
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "assay/infer.h"
#include "compare_engines.h"
#include "preferred_choice.h"

namespace assay {
namespace {

ValueId convolution(GraphBuilder& builder, const std::string& name, ValueId x,
                    std::int64_t channels, std::int64_t kernel) {
  const std::int64_t pad = kernel / 2;
  const ValueId weight = builder.weight(name + ".w", {64, channels, kernel, kernel}, 0.1);
  const ValueId y = builder.node("Conv", name, {x, weight},
                                 {{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
                                  {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
  return builder.node("Relu", name + ".relu", {y});
}

// As in SqueezeNet: a pooled image, 1x1 and 3x3 convolutions of it side by side, another 3x3.
Graph side_by_side() {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 16, 56, 56});
  const ValueId squeezed = convolution(builder, "squeeze", x, 16, 1);
  const ValueId joined = builder.node("Concat", "concat",
                                      {convolution(builder, "one", squeezed, 64, 1),
                                       convolution(builder, "three", squeezed, 64, 3)},
                                      {{"axis", std::int64_t{1}}});
  builder.output(convolution(builder, "last", joined, 128, 3), "y");
  return builder.finish();
}

// An image and its convolution side by side, as in networks that see the image again.
Graph beside_its_source() {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 16, 56, 56});
  const ValueId joined = builder.node(
      "Concat", "concat", {x, convolution(builder, "one", x, 16, 3)}, {{"axis", std::int64_t{1}}});
  builder.output(convolution(builder, "last", joined, 80, 3), "y");
  return builder.finish();
}

void expect_agreement(const Graph& graph) {
  const Difference difference = compare_engines(graph);
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_LE(difference.largest, 1e-5);
}

void expect_no_reorder_behind_concat(const Graph& graph) {
  const auto program = compile_preferring("winograd 4x4", infer_shapes(graph), {});
  bool is_behind = false;
  for (const StepInfo& step : program->steps()) {
    EXPECT_FALSE(is_behind && step.algorithm == "reorder" && step.name.starts_with("concat"))
        << step.name;
    is_behind = is_behind || step.op == "Concat";
  }
  EXPECT_TRUE(is_behind);
}

TEST(MixedConcat, Agrees) {
  expect_agreement(side_by_side());
  expect_agreement(beside_its_source());
}

TEST(MixedConcat, StaysChannelsLastForWhoReadsIt) {
  expect_no_reorder_behind_concat(side_by_side());
}

// Also what a convolution by plain products leaves, as on ARM.
TEST(MixedConcat, BringsPlainImagesToAConvolution) {
  expect_no_reorder_behind_concat(beside_its_source());
}

}  // namespace
}  // namespace assay
