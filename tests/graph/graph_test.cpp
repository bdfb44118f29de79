#include "assay/graph.h"

#include <gtest/gtest.h>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/text_form.h"
#include "assay/verify.h"
#include "support/error_message.h"

namespace assay {
namespace {

Graph two_relus() {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 4});
  const ValueId a = builder.node("Relu", "a", {x});
  builder.output(builder.node("Relu", "b", {a}), "y");
  return builder.finish();
}

std::string problem_in(const Graph& graph) {
  return error_message([&] { verify(graph); });
}

TEST(Graph, LinksEachValueToTheNodeThatComputesIt) {
  const Graph graph = two_relus();
  EXPECT_FALSE(graph.producer(graph.inputs()[0]).is_valid());
  EXPECT_EQ(graph.producer(graph.outputs()[0]), NodeId{1});
  EXPECT_EQ(graph.display_name(NodeId{0}), "a");
}

TEST(Graph, CopiesShareWeights) {
  const Graph original = Sequential({Linear(8, 4)});
  const Graph copy = original;
  ASSERT_EQ(copy.initializers().size(), 2u);
  EXPECT_TRUE(copy.initializers()[0].tensor.same_storage(original.initializers()[0].tensor));
  EXPECT_TRUE(copy == original);
}

TEST(Graph, ConsumersListEachReaderOnce) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", DataType::Float32, Shape{4});
  builder.output(builder.node("Add", "twice", {x, x}), "y");
  const Graph graph = builder.finish();
  EXPECT_EQ(consumers(graph)[x.number], std::vector<NodeId>{NodeId{0}});
}

TEST(Verify, AcceptsAWellFormedGraph) {
  EXPECT_EQ(problem_in(two_relus()), "");
}

TEST(Verify, NamesTheNodesOfACycle) {
  Graph graph;
  const ValueId a = graph.add_value("a");
  const ValueId b = graph.add_value("b");
  graph.add_node(Node{.name = "first", .op = "Relu", .domain = "", .inputs = {b}, .outputs = {a}});
  graph.add_node(Node{.name = "second", .op = "Relu", .domain = "", .inputs = {a}, .outputs = {b}});
  EXPECT_NE(problem_in(graph).find("'first' reads tensor 'b' before Relu 'second' defines it"),
            std::string::npos);
}

TEST(Verify, NamesATensorThatNothingDefines) {
  Graph graph;
  const ValueId missing = graph.add_value("missing");
  const ValueId y = graph.add_value("y");
  graph.add_node(
      Node{.name = "n", .op = "Relu", .domain = "", .inputs = {missing}, .outputs = {y}});
  EXPECT_EQ(problem_in(graph), "Relu 'n' reads tensor 'missing', which nothing defines");
}

TEST(Verify, RefusesTwoTensorsOfOneName) {
  Graph graph;
  graph.add_input(graph.add_value("x"));
  graph.add_input(graph.add_value("x"));
  EXPECT_NE(problem_in(graph).find("tensor name 'x' is used for two"), std::string::npos);
}

TEST(Verify, RefusesASecondDefinition) {
  Graph graph;
  const ValueId x = graph.add_value("x");
  graph.add_input(x);
  graph.add_node(Node{.name = "n", .op = "Relu", .domain = "", .inputs = {x}, .outputs = {x}});
  EXPECT_EQ(problem_in(graph), "tensor 'x' is defined a second time by Relu 'n'");
}

TEST(Verify, RefusesAnOutputThatNothingDefines) {
  Graph graph;
  graph.name = "g";
  graph.add_output(graph.add_value("y"));
  EXPECT_EQ(problem_in(graph), "graph 'g': nothing defines its output 'y'");
}

TEST(Layers, LinearIsAGemmOnMatricesAndAMatMulElsewhere) {
  GraphBuilder builder("g");
  const ValueId matrix = builder.input("m", DataType::Float32, Shape{1, 8});
  const ValueId sequence = builder.input("s", DataType::Float32, Shape{1, 5, 8});
  builder.output(Linear(8, 4)(builder, matrix), "a");
  builder.output(Linear(8, 4)(builder, sequence), "b");
  const Graph graph = builder.finish();
  EXPECT_EQ(graph.node(NodeId{0}).op, "Gemm");
  EXPECT_EQ(graph.node(NodeId{1}).op, "MatMul");
  EXPECT_EQ(graph.node(NodeId{2}).op, "Add");
}

TEST(Layers, SequenceReadsLikeTheNetwork) {
  const Graph graph = Sequential(
      {Conv2d(1, 16, 3, {.padding = 1}), Relu(), MaxPool2d(2), Flatten(), Linear(3136, 10)});
  const std::string text = to_text(graph);
  EXPECT_NE(text.find("Conv(%input, %conv.weight, %conv.bias)"), std::string::npos) << text;
  EXPECT_NE(text.find("%output"), std::string::npos) << text;
  EXPECT_NE(text.find("Gemm"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
