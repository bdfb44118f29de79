#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/text_form.h"
#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

std::string call(const std::string& name, const Names& inputs, const Names& outputs,
                 const Messages& attributes = {}) {
  return node(name, inputs, outputs, attributes, "local");
}

const Messages kOpsets = {opset(17), opset(1, "local")};

std::string model_calling(const Messages& nodes, const Messages& functions) {
  return model(testing::graph({.nodes = nodes}), kOpsets, functions);
}

TEST(Functions, ACallBecomesTheNodesOfTheBody) {
  const std::string twice =
      function({.name = "twice",
                .inputs = {"a"},
                .outputs = {"b"},
                .nodes = {node("Relu", {"a"}, {"t"}), node("Add", {"t", "t"}, {"b"})}});
  const Graph graph = read_bytes(
      model_calling({call("twice", {"x"}, {"m"}), call("twice", {"m"}, {"y"})}, {twice}));
  ASSERT_EQ(graph.node_count(), 4u);
  EXPECT_EQ(graph.node(NodeId{0}).op, "Relu");
  EXPECT_EQ(graph.value(graph.node(NodeId{1}).outputs[0]).name, "m");
  EXPECT_EQ(graph.node(NodeId{2}).inputs[0], graph.node(NodeId{1}).outputs[0]);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
}

TEST(Functions, InnerNamesNeverMeetNamesOfTheModel) {
  const std::string inner =
      function({.name = "f",
                .inputs = {"a"},
                .outputs = {"b"},
                .nodes = {node("Relu", {"a"}, {"t"}), node("Relu", {"t"}, {"b"})}});
  const Graph graph = read_bytes(model_calling(
      {call("f", {"x"}, {"m"}), node("Relu", {"m"}, {"f_1/t"}), node("Relu", {"f_1/t"}, {"y"})},
      {inner}));
  EXPECT_EQ(graph.node_count(), 4u);
}

TEST(Functions, AttributeReferencesTakeTheCallsValueOrTheDefault) {
  const std::string leaky =
      function({.name = "leaky",
                .inputs = {"a"},
                .outputs = {"b"},
                .nodes = {node("LeakyRelu", {"a"}, {"b"},
                               {reference_attribute("alpha", 1, "slope"),
                                reference_attribute("absent", 1, "nowhere")})},
                .defaults = {float_attribute("slope", 0.25f)}});
  const Graph graph = read_bytes(model_calling(
      {call("leaky", {"x"}, {"m"}, {float_attribute("slope", 0.5f)}), call("leaky", {"m"}, {"y"})},
      {leaky}));
  EXPECT_EQ(graph.node(NodeId{0}).float_or("alpha", 0), 0.5f);
  EXPECT_EQ(graph.node(NodeId{1}).float_or("alpha", 0), 0.25f);
  EXPECT_EQ(graph.node(NodeId{0}).find("absent"), nullptr);
}

TEST(Functions, ReferencesPassThroughNestedCalls) {
  const std::string inner = function(
      {.name = "inner",
       .inputs = {"a"},
       .outputs = {"b"},
       .nodes = {node("LeakyRelu", {"a"}, {"b"}, {reference_attribute("alpha", 1, "p")})}});
  const std::string outer =
      function({.name = "outer",
                .inputs = {"a"},
                .outputs = {"b"},
                .nodes = {call("inner", {"a"}, {"b"}, {reference_attribute("p", 1, "q")})}});
  const Graph graph = read_bytes(
      model_calling({call("outer", {"x"}, {"y"}, {float_attribute("q", 0.75f)})}, {inner, outer}));
  EXPECT_EQ(graph.node(NodeId{0}).float_or("alpha", 0), 0.75f);
}

TEST(Functions, SubgraphsInABodyCaptureItsValues) {
  const std::string body =
      branch({node("Add", {"a", "t"}, {"s"}, {reference_attribute("k", 2, "k")})}, "s");
  const std::string f = function(
      {.name = "f",
       .inputs = {"a", "c"},
       .outputs = {"b"},
       .nodes = {node("Relu", {"a"}, {"t"}), node("If", {"c"}, {"b"},
                                                  {graph_attribute("then_branch", body),
                                                   graph_attribute("else_branch", body)})}});
  const Graph graph = read_bytes(
      model(testing::graph({.nodes = {call("f", {"x", "c"}, {"y"}, {int_attribute("k", 3)})},
                            .inputs = {value_info("x"), value_info("c", 9, {})}}),
            kOpsets, {f}));
  const Graph& subgraph = **graph.node(NodeId{1}).get<GraphPtr>("then_branch");
  ASSERT_EQ(subgraph.captures().size(), 2u);
  EXPECT_EQ(graph.value(subgraph.captures()[0].outer).name, "x");
  EXPECT_EQ(subgraph.captures()[1].outer, graph.node(NodeId{0}).outputs[0]);
  EXPECT_EQ(subgraph.node(NodeId{0}).int_or("k", 0), 3);
}

TEST(Functions, AnInputPassedOnBecomesAnIdentity) {
  const std::string f = function({.name = "f", .inputs = {"a"}, .outputs = {"a"}});
  const Graph graph = read_bytes(model_calling({call("f", {"x"}, {"y"})}, {f}));
  ASSERT_EQ(graph.node_count(), 1u);
  EXPECT_TRUE(graph.node(NodeId{0}).is("Identity"));
}

TEST(Functions, AnOptionalInputLeftOutIsLeftOutInside) {
  const std::string f = function({.name = "f",
                                  .inputs = {"a", "b"},
                                  .outputs = {"c"},
                                  .nodes = {node("Clip", {"a", "b"}, {"c"})}});
  const Graph graph = read_bytes(model_calling({call("f", {"x"}, {"y"})}, {f}));
  EXPECT_FALSE(graph.node(NodeId{0}).has_input(1));
}

TEST(Functions, AConstantInsideBecomesAnInitializerUnlessItIsTheGraphsOutput) {
  const std::string f =
      function({.name = "f",
                .inputs = {"a"},
                .outputs = {"b", "k"},
                .nodes = {node("Constant", {}, {"k"}, {reference_attribute("value_int", 2, "n")}),
                          node("Add", {"a", "k"}, {"b"})}});
  const Graph stored =
      read_bytes(model_calling({call("f", {"x"}, {"y", "k"}, {int_attribute("n", 4)})}, {f}));
  EXPECT_EQ(stored.node_count(), 1u);
  EXPECT_EQ(stored.initializers()[0].tensor, Tensor::of_int64({}, {4}));
  const Graph computed =
      read_bytes(model_calling({call("f", {"x"}, {"z", "y"}, {int_attribute("n", 4)})}, {f}));
  EXPECT_EQ(computed.node_count(), 2u);
}

TEST(Functions, ARecursiveFunctionIsRefusedWithItsCircle) {
  const std::string f = function(
      {.name = "f", .inputs = {"a"}, .outputs = {"b"}, .nodes = {call("g", {"a"}, {"b"})}});
  const std::string g = function(
      {.name = "g", .inputs = {"a"}, .outputs = {"b"}, .nodes = {call("f", {"a"}, {"b"})}});
  EXPECT_THAT(refusal_of(model_calling({call("f", {"x"}, {"y"})}, {f, g})), HasSubstr("f > g > f"));
}

// Each of 40 functions calls the next twice: 2^40 nodes without a limit.
TEST(Functions, ExponentialGrowthIsRefused) {
  Messages functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    functions.push_back(function({.name = "f" + std::to_string(i),
                                  .inputs = {"a"},
                                  .outputs = {"b"},
                                  .nodes = {call(next, {"a"}, {"t"}), call(next, {"t"}, {"b"})}}));
  }
  functions.push_back(function(
      {.name = "f40", .inputs = {"a"}, .outputs = {"b"}, .nodes = {node("Relu", {"a"}, {"b"})}}));
  EXPECT_THAT(refusal_of(model_calling({call("f0", {"x"}, {"y"})}, functions)),
              HasSubstr("1000000 nodes"));
}

TEST(Functions, AChainOfTooManyFunctionsIsRefused) {
  Messages functions;
  for (int i = 0; i < 5000; ++i) {
    functions.push_back(function({.name = "f" + std::to_string(i),
                                  .inputs = {"a"},
                                  .outputs = {"b"},
                                  .nodes = {call("f" + std::to_string(i + 1), {"a"}, {"b"})}}));
  }
  EXPECT_THAT(refusal_of(model_calling({call("f0", {"x"}, {"y"})}, functions)),
              HasSubstr("nested more than 100 deep"));
}

TEST(Functions, ADifferentOpsetIsRefusedOnlyIfStandardOperatorsAreUsed) {
  const auto with_node = [](const std::string& body_node) {
    return model_calling({call("f", {"x"}, {"y"})},
                         {function({.name = "f",
                                    .inputs = {"a"},
                                    .outputs = {"b"},
                                    .nodes = {body_node},
                                    .opsets = {opset(13), opset(1, "other")}})});
  };
  EXPECT_THAT(refusal_of(with_node(node("Relu", {"a"}, {"b"}))),
              HasSubstr("function 'f' uses operator set 13, the model 17"));
  const Graph graph = read_bytes(with_node(node("Foo", {"a"}, {"b"}, {}, "other")));
  EXPECT_EQ(graph.opset("other"), 1);
  EXPECT_EQ(graph.opset(), 17);
}

TEST(Functions, TooManyArgumentsAreRefused) {
  const std::string f = function({.name = "f", .inputs = {"a"}, .outputs = {"a"}});
  EXPECT_THAT(refusal_of(model_calling({call("f", {"x", "x"}, {"y"})}, {f})),
              HasSubstr("has 2 inputs and 1 outputs, its function takes 1 and returns 1"));
}

TEST(Functions, TwoOfOneNameAreRefused) {
  const std::string f = function({.name = "f", .inputs = {"a"}, .outputs = {"a"}});
  EXPECT_THAT(refusal_of(model_calling({call("f", {"x"}, {"y"})}, {f, f})),
              HasSubstr("function 'f' is defined twice"));
}

}  // namespace
}  // namespace assay
