// Inputs get definite shapes: by name, by batch, whole, or by an assumption that is said.
#include "assay/bind.h"

#include "infer_helpers.h"
#include "support/error_message.h"

namespace assay {
namespace {

Graph image_model(Shape shape = {Dim::symbol("n"), 3, Dim::symbol("height"),
                                 Dim::symbol("width")}) {
  GraphBuilder builder("image");
  const ValueId x = builder.input("x", DataType::Float32, std::move(shape));
  builder.output(builder.node("Relu", "relu", {x}), "y");
  return builder.finish();
}

std::string bound_shape(const BoundGraph& bound, std::size_t i = 0) {
  return bound.graph.value(bound.graph.inputs()[i]).type.shape->to_string();
}

std::string refusal(Graph graph, const Bindings& bindings) {
  return error_message([&] { bind_inputs(std::move(graph), bindings); });
}

TEST(Bind, DimsAreBoundByName) {
  const auto bound =
      bind_inputs(image_model(), {.dims = {{"height", 32}, {"width", 64}}, .batch = 8});
  EXPECT_EQ(bound_shape(bound), "8x3x32x64");
  EXPECT_TRUE(bound.assumptions.empty());
}

TEST(Bind, AnOpenAxisZeroIsTheBatchAndThatIsSaid) {
  const auto bound = bind_inputs(image_model({Dim(), 3, 8, 8}), {});
  EXPECT_EQ(bound_shape(bound), "1x3x8x8");
  ASSERT_EQ(bound.assumptions.size(), 1u);
  EXPECT_NE(bound.assumptions[0].find("`batch`"), std::string::npos);
}

TEST(Bind, OpenDimensionsAreListedAllAtOnce) {
  EXPECT_EQ(refusal(image_model({Dim(), 3, Dim::symbol("height"), Dim::symbol("width")}), {}),
            "input 'x' (?x3xheightxwidth) has open dimensions: set `dims` height=N, `dims` width=N "
            "or `input_shapes` x=1x3xHxW");
}

TEST(Bind, UnknownNamesAreAnsweredWithTheKnownOnes) {
  const std::string dim = refusal(image_model(), {.dims = {{"hight", 3}}});
  EXPECT_NE(dim.find("n, height, width"), std::string::npos) << dim;
  EXPECT_NE(dim.find("did you mean 'height'"), std::string::npos) << dim;
  const std::string input = refusal(image_model(), {.input_shapes = {{"X1", Shape{1}}}});
  EXPECT_NE(input.find("no input 'X1'"), std::string::npos) << input;
}

TEST(Bind, ZeroAndNegativeNumbersAreRefused) {
  EXPECT_NE(refusal(image_model(), {.dims = {{"height", 0}}}), "");
  EXPECT_NE(refusal(image_model(), {.batch = 0}), "");
  EXPECT_NE(refusal(image_model(), {.batch = -3}), "");
  EXPECT_NE(refusal(image_model(), {.input_shapes = {{"x", Shape{1, 3, 0, 8}}}}), "");
}

TEST(Bind, AnotherRankIsRefusedAnotherNumberIsTaken) {
  EXPECT_NE(refusal(image_model(), {.input_shapes = {{"x", Shape{1, 3, 8}}}}), "");
  EXPECT_EQ(bound_shape(bind_inputs(image_model(), {.input_shapes = {{"x", Shape{1, 4, 8, 9}}}})),
            "1x4x8x9");
}

TEST(Bind, AShapeBindsItsSymbolsInOtherInputsToo) {
  GraphBuilder builder("two");
  const ValueId a =
      builder.input("a", DataType::Int64, Shape{Dim::symbol("batch"), Dim::symbol("sequence")});
  const ValueId b =
      builder.input("b", DataType::Int64, Shape{Dim::symbol("batch"), Dim::symbol("sequence")});
  builder.output(builder.node("Add", "add", {a, b}), "y");
  const auto bound = bind_inputs(builder.finish(), {.input_shapes = {{"a", Shape{2, 128}}}});
  EXPECT_EQ(bound_shape(bound, 1), "2x128");
  EXPECT_TRUE(bound.assumptions.empty());
}

TEST(Bind, ContradictingFlagsAreRefused) {
  EXPECT_NE(refusal(image_model(), {.dims = {{"n", 4}, {"height", 8}, {"width", 8}}, .batch = 2}),
            "");
}

TEST(Bind, AFixedBatchIsReplacedWhereInputsShareIt) {
  GraphBuilder builder("two");
  const ValueId a = builder.input("a", DataType::Float32, Shape{1, 8});
  const ValueId b = builder.input("b", DataType::Float32, Shape{1, 8});
  const ValueId c = builder.input("c", DataType::Float32, Shape{8});
  const ValueId sum = builder.node("Sum", "sum", {a, b, c});
  builder.output(sum, "y");
  Graph graph = builder.finish();
  graph.value(sum).type = tensor_type(DataType::Float32, Shape{1, 8});
  const auto bound = bind_inputs(std::move(graph), {.batch = 16});
  EXPECT_EQ(bound_shape(bound, 0), "16x8");
  EXPECT_EQ(bound_shape(bound, 1), "16x8");
  EXPECT_EQ(bound_shape(bound, 2), "8");
  EXPECT_FALSE(bound.graph.value(sum).type.shape.has_value()) << "declared for batch 1: stale";
  const Inferred inferred = infer_shapes(bound.graph);
  EXPECT_EQ(inferred.graph.value(sum).type.shape->to_string(), "16x8");
  EXPECT_TRUE(inferred.warnings.empty());
}

TEST(Bind, DeclaredSymbolsAreSubstituted) {
  Graph graph = image_model();
  const ValueId y = graph.outputs()[0];
  graph.value(y).type =
      tensor_type(DataType::Float32, Shape{Dim::symbol("n"), 3, Dim::symbol("height"), Dim()});
  const auto bound =
      bind_inputs(std::move(graph), {.dims = {{"height", 5}, {"width", 6}}, .batch = 2});
  EXPECT_EQ(bound.graph.value(y).type.shape->to_string(), "2x3x5x?");
}

TEST(Bind, AnInputWithoutAnyShapeNeedsOne) {
  GraphBuilder builder("open");
  const ValueId x = builder.input("x", DataType::Float32, std::nullopt);
  builder.output(builder.node("Relu", "relu", {x}), "y");
  const Graph graph = builder.finish();
  EXPECT_NE(refusal(graph, {}).find("`input_shapes` x="), std::string::npos);
  EXPECT_EQ(bound_shape(bind_inputs(graph, {.input_shapes = {{"x", Shape{1, 4}}}})), "1x4");
}

TEST(Bind, TheBatchIsWhatTheModelCallsOne) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", DataType::Float32,
                                  Shape{Dim::symbol("sequence"), Dim::symbol("batch"), 5});
  builder.output(builder.node("Relu", "relu", {x}), "y");
  const Graph graph = builder.finish();
  const auto bound = bind_inputs(graph, {.dims = {{"sequence", 7}}, .batch = 4});
  EXPECT_EQ(bound.graph.value(bound.graph.inputs()[0]).type.shape->to_string(), "7x4x5");
  const auto assumed = bind_inputs(graph, {.dims = {{"sequence", 7}}});
  EXPECT_EQ(assumed.graph.value(assumed.graph.inputs()[0]).type.shape->to_string(), "7x1x5");
  EXPECT_THROW(bind_inputs(graph, {.batch = 4}), Error);  // how long the sequence is stays open
}

TEST(Bind, ReplacingAFixedFirstAxisOtherThanOneIsSaid) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", DataType::Float32, Shape{7, 1, 5});
  builder.output(builder.node("Relu", "relu", {x}), "y");
  const auto bound = bind_inputs(builder.finish(), {.batch = 4});
  ASSERT_EQ(bound.assumptions.size(), 1u);
  EXPECT_NE(bound.assumptions[0].find("which is 7"), std::string::npos);
}

TEST(Bind, ABatchThatHasNothingToSetIsRefused) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 5});
  builder.output(builder.node("Relu", "relu", {x}), "y");
  Bindings bindings{.batch = 4};
  bindings.input_shapes["x"] = Shape{2, 5};
  EXPECT_THROW(bind_inputs(builder.finish(), bindings), Error);
}

}  // namespace
}  // namespace assay
