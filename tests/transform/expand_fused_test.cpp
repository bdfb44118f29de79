#include <gtest/gtest.h>

#include "transform/simplify.h"

namespace assay {

using namespace assay::transform;

namespace {

// One node of com.microsoft with float inputs of these shapes.
Graph fused_graph(const std::string& op, const std::vector<Dims>& inputs,
                  std::vector<Attribute> attributes, std::size_t outputs = 1) {
  Graph graph;
  graph.opsets = {{"", 17}, {"com.microsoft", 1}};
  Node node{.name = "fused", .op = op, .domain = "com.microsoft"};
  node.attributes = std::move(attributes);
  for (const Dims& dims : inputs) {
    const ValueId id = graph.add_value("x" + std::to_string(graph.value_count()),
                                       tensor_type(DataType::Float32, Shape(dims)));
    graph.add_input(id);
    node.inputs.push_back(id);
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(graph.add_value("y" + std::to_string(i)));
    graph.add_output(node.outputs.back());
  }
  graph.add_node(std::move(node));
  return graph;
}

std::vector<std::string> expanded_ops(const Graph& graph) {
  const Rewritten result = expand_fused_operators(infer_shapes(graph));
  std::vector<std::string> ops;
  for (const Node& node : result.model.graph.nodes()) ops.push_back(node.op);
  return ops;
}

TEST(ExpandFused, WritesAConvolutionItsSumAndItsActivation) {
  const Graph graph = fused_graph("FusedConv", {{1, 2, 4, 4}, {3, 2, 1, 1}, {3}, {1, 3, 4, 4}},
                                  {{"activation", std::string("Relu")}});
  EXPECT_EQ(expanded_ops(graph), (std::vector<std::string>{"Conv", "Add", "Relu"}));
}

TEST(ExpandFused, NewNodesBearTheNameAndOriginOfTheFusedOne) {
  const Rewritten result =
      expand_fused_operators(infer_shapes(fused_graph("BiasGelu", {{2, 8}, {8}}, {})));
  ASSERT_EQ(result.model.graph.node_count(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(result.model.graph.nodes()[i].name, "fused");
    EXPECT_EQ(result.origins[i], std::vector{NodeId{0}});
  }
}

TEST(ExpandFused, LeavesAnActivationItDoesNotKnow) {
  const Graph graph = fused_graph(
      "FusedConv", {{1, 2, 4, 4}, {3, 2, 1, 1}},
      {{"activation", std::string("ScaledTanh")}, {"activation_params", std::vector<float>{1, 1}}});
  EXPECT_EQ(expanded_ops(graph), std::vector<std::string>{"FusedConv"});
}

TEST(ExpandFused, LeavesAttentionWithRotaryEmbeddings) {
  const std::vector<Dims> inputs = {{1, 3, 8}, {8, 24}, {24}};
  const Attribute heads{"num_heads", std::int64_t{2}};
  EXPECT_EQ(expanded_ops(fused_graph("Attention", inputs, {heads})).back(), "Reshape");
  EXPECT_EQ(expanded_ops(fused_graph("Attention", inputs, {heads, {"do_rotary", std::int64_t{1}}})),
            std::vector<std::string>{"Attention"});
}

TEST(ExpandFused, GivesTheSumOfASkipLayerNormalizationWhereItIsRead) {
  const std::vector<Dims> inputs = {{2, 3, 8}, {2, 3, 8}, {8}, {8}};
  const Graph graph = fused_graph("SkipLayerNormalization", inputs, {}, 1);
  EXPECT_EQ(expanded_ops(graph), (std::vector<std::string>{"Add", "LayerNormalization"}));
  const Rewritten all =
      expand_fused_operators(infer_shapes(fused_graph("SkipLayerNormalization", inputs, {}, 4)));
  const auto nodes = all.model.graph.nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].outputs[0], all.model.graph.outputs()[3]);
  EXPECT_EQ(nodes[1].outputs.size(), 3u);
}

TEST(ExpandFused, LeavesAResizeWhoseResultNobodyWants) {
  Graph graph;
  graph.opsets = {{"", 17}};
  const ValueId x = graph.add_value("x", tensor_type(DataType::UInt8, Shape{1, 1, 2, 2}));
  graph.add_input(x);
  graph.add_output(x);
  graph.add_node(
      Node{.name = "resize", .op = "Resize", .domain = "", .inputs = {x}, .outputs = {ValueId{}}});
  Inferred model;
  model.known.resize(graph.value_count());
  model.graph = std::move(graph);
  EXPECT_EQ(expand_fused_operators(model).model.graph.node_count(), 1u);
}

}  // namespace
}  // namespace assay
