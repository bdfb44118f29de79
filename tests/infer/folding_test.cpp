// Shape arithmetic folded on the way, what is not folded, and what the file declares.
#include <chrono>

#include "assay/layers.h"
#include "infer_helpers.h"

namespace assay {
namespace {

using test::Ints;
using test::OneNode;

const ValueType& folded_type(const Inferred& inferred, std::size_t i = 0) {
  return inferred.graph.value(inferred.graph.outputs()[i]).type;
}

TEST(Folding, ShapeArithmeticReachesTheReshape) {
  // The way exporters write x.view(x.size(0), -1): Shape, Gather, Unsqueeze, Concat, Reshape.
  GraphBuilder builder("test");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3, 4});
  const ValueId shape = builder.node("Shape", "shape", {x});
  const ValueId first =
      builder.node("Gather", "first", {shape, builder.constant("i", Tensor::of_int64({}, {0}))});
  const ValueId row = builder.node("Unsqueeze", "row", {first, builder.ints("axes", {0})});
  const ValueId target = builder.node("Concat", "target", {row, builder.ints("rest", {-1})},
                                      {{"axis", std::int64_t{0}}});
  builder.output(builder.node("Reshape", "flat", {x, target}), "y");
  const Inferred inferred = infer_shapes(builder.finish());
  EXPECT_EQ(folded_type(inferred).shape->to_string(), "2x12");
  ASSERT_NE(inferred.known_value(target), nullptr);
  EXPECT_EQ(inferred.known_value(target)->to_int64(), (Ints{2, -1}));
  EXPECT_TRUE(inferred.unresolved.empty());
}

TEST(Folding, ShapeOfAnOpenInputStaysOpen) {
  GraphBuilder builder("test");
  const ValueId x = builder.input("x", DataType::Float32, Shape{Dim::symbol("n"), 3});
  const ValueId shape = builder.node("Shape", "shape", {x});
  builder.output(builder.node("Reshape", "same", {x, shape}), "y");
  const Inferred inferred = infer_shapes(builder.finish());
  EXPECT_EQ(inferred.known_value(shape), nullptr);
  EXPECT_EQ(folded_type(inferred).to_string(), "float32[?x?]");
  ASSERT_EQ(inferred.unresolved.size(), 1u);
}

TEST(Folding, WeightsAreNotComputedWith) {
  GraphBuilder builder("test");
  const ValueId weight = builder.weight("w", {64, 64}, 1.0);
  builder.output(builder.node("Transpose", "t", {weight}), "y");
  const Inferred inferred = infer_shapes(builder.finish());
  EXPECT_EQ(folded_type(inferred).shape->to_string(), "64x64");
  EXPECT_EQ(inferred.known_value(inferred.graph.outputs()[0]), nullptr);
}

TEST(Folding, HugeConstantsAreInferredButNotMade) {
  const Inferred inferred = OneNode("ConstantOfShape").ints({1LL << 40}).infer();
  EXPECT_EQ(inferred.known_value(inferred.graph.outputs()[0]), nullptr);
}

TEST(Folding, AChainOfLargeConstantsEndsAtTheBudget) {
  // 10,000 nodes of 65,536 numbers each would be 5 GB; folding stops long before.
  GraphBuilder builder("test");
  ValueId last = builder.node("ConstantOfShape", "zeros", {builder.ints("n", {65536})},
                              {{"value", Tensor::of_int64({1}, {0})}});
  for (int i = 0; i < 10000; ++i) last = builder.node("Neg", "neg" + std::to_string(i), {last});
  builder.output(last, "y");
  const Inferred inferred = infer_shapes(builder.finish());
  std::size_t known_bytes = 0;
  for (const Tensor& content : inferred.known) known_bytes += content.byte_size();
  EXPECT_LE(known_bytes, std::size_t{1} << 27);
  EXPECT_EQ(folded_type(inferred).to_string(), "int64[65536]");
}

TEST(Folding, BadConstantsAreErrorsNotCrashes) {
  EXPECT_NE(OneNode("Div").ints({1}).ints({0}).error(), "");
  EXPECT_NE(OneNode("Gather").ints({1, 2}).ints({5}).error(), "");
  EXPECT_NE(OneNode("Range")
                .constant(Tensor::of_int64({}, {0}))
                .constant(Tensor::of_int64({}, {9}))
                .constant(Tensor::of_int64({}, {0}))
                .error(),
            "");
}

TEST(Folding, TypesThatKernelsCannotComputeAreLeftAlone) {
  OneNode cast("Cast", 19);
  cast.constant(Tensor::of_float({2}, {1, 2}));
  cast.attribute("to", static_cast<std::int64_t>(DataType::Float8E4M3FN));
  EXPECT_EQ(cast.text(), "float8e4m3fn[2]");
  EXPECT_EQ(OneNode("Constant").attribute("value_string", std::string("word")).text(), "string[]");
}

TEST(Folding, AbsurdRanksAreRefused) {
  EXPECT_NE(OneNode("Reshape").input({1}).ints(Ints(50000, 1)).error(), "");
  EXPECT_NE(OneNode("Unsqueeze", 11).input({1}).attribute("axes", Ints(50000, 0)).error(), "");
}

TEST(Folding, GivenInputValuesAreKnown) {
  GraphBuilder builder("test");
  const ValueId x = builder.input("x", DataType::Float32, Shape{6});
  const ValueId target = builder.input("target", DataType::Int64, Shape{2});
  builder.output(builder.node("Reshape", "r", {x, target}), "y");
  const Graph graph = builder.finish();
  InferOptions options;
  options.input_values["target"] = Tensor::of_int64({2}, {2, 3});
  EXPECT_EQ(folded_type(infer_shapes(graph, options)).shape->to_string(), "2x3");
  options.input_values["nobody"] = Tensor::of_int64({2}, {2, 3});
  EXPECT_THROW(infer_shapes(graph, options), Error);
}

TEST(Declared, FillsInWhereInferenceDoesNotReach) {
  GraphBuilder builder("test");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId y = builder.node("Custom", "custom", {x});
  builder.output(builder.node("Relu", "relu", {y}), "z");
  Graph graph = builder.finish();
  graph.node(NodeId{0}).domain = "com.example";
  graph.value(y).type = tensor_type(DataType::Float32, Shape{2, 5});
  EXPECT_EQ(folded_type(infer_shapes(graph)).to_string(), "float32[2x5]");
}

TEST(Declared, NeverOverridesAndIsWarnedOf) {
  GraphBuilder builder("test");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId y = builder.node("Relu", "relu", {x});
  builder.output(y, "y");
  Graph graph = builder.finish();
  graph.value(y).type = tensor_type(DataType::Float32, Shape{7, 3});
  const Inferred inferred = infer_shapes(graph);
  EXPECT_EQ(folded_type(inferred).shape->to_string(), "2x3");
  ASSERT_EQ(inferred.warnings.size(), 1u);
  EXPECT_EQ(inferred.warnings[0],
            "Relu 'relu': the file declares 7x3 for 'y', its inputs give 2x3; the latter is used");
}

TEST(Inference, SmallNetworkResolvesCompletely) {
  GraphBuilder builder("cnn");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 1, 28, 28});
  const Layer network = Sequential({Conv2d(1, 16, 3, {.padding = 1}), Relu(), MaxPool2d(2),
                                    Flatten(), Linear(16 * 14 * 14, 10)});
  builder.output(network(builder, x), "y");
  const Inferred inferred = infer_shapes(builder.finish());
  EXPECT_TRUE(inferred.unresolved.empty());
  EXPECT_EQ(folded_type(inferred).to_string(), "float32[1x10]");
}

TEST(Inference, IsLinearInTheNumberOfNodes) {
  // Not a matter of speed: a quadratic pass over 100,000 nodes would take minutes.
  GraphBuilder builder("chain");
  ValueId last = builder.input("x", DataType::Float32, Shape{1, 8});
  for (int i = 0; i < 100000; ++i) last = builder.node("Relu", "r" + std::to_string(i), {last});
  builder.output(last, "y");
  Graph graph = builder.finish();
  const auto start = std::chrono::steady_clock::now();
  const Inferred inferred = infer_shapes(std::move(graph));
  const auto elapsed = std::chrono::steady_clock::now() - start;
  RecordProperty(
      "milliseconds",
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()));
  EXPECT_EQ(folded_type(inferred).to_string(), "float32[1x8]");
  EXPECT_LT(elapsed, std::chrono::seconds(30));
}

}  // namespace
}  // namespace assay
