// Operator sets before 7: rewritten as 7, or refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/text_form.h"
#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

std::string string_attribute(const std::string& name, const std::string& value) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_string(1, name);
  writer.add_bytes(4, value);
  writer.add_int32(20, 3);
  return message;
}

std::string ints_attribute(const std::string& name, const Dims& values) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_string(1, name);
  for (const auto value : values) writer.add_int64(8, value);
  writer.add_int32(20, 7);
  return message;
}

// `node_message` reads x, of `dims`, and perhaps w, a stored vector of three, and gives y.
std::string old_model(std::int64_t version, const std::string& node_message,
                      const Dims& dims = {2, 3, 4, 5}) {
  return model(
      testing::graph({.nodes = {node_message},
                      .initializers = {raw_tensor("w", kFloat, {3}, bytes_of({1.f, 2.f, 3.f}))},
                      .inputs = {value_info("x", kFloat, dims)},
                      .outputs = {value_info("y", kFloat, dims)}}),
      {opset(version)});
}

Graph read_old(std::int64_t version, const std::string& node_message) {
  return read_bytes(old_model(version, node_message));
}

TEST(OldOpsets, BecomeSeven) {
  const Graph graph = read_old(6, node("Relu", {"x"}, {"y"}));
  EXPECT_EQ(graph.opset(), 7);
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST(OldOpsets, ABroadcastAxisIsSpelledOut) {
  const auto axis = [](std::int64_t at) {
    return read_old(6, node("Add", {"x", "w"}, {"y"},
                            {int_attribute("broadcast", 1), int_attribute("axis", at)}));
  };
  for (const std::int64_t at : {1, -3}) {
    const Graph graph = axis(at);
    ASSERT_EQ(graph.node_count(), 2u);
    const Node& unsqueeze = graph.node(NodeId{0});
    EXPECT_EQ(unsqueeze.op, "Unsqueeze");
    EXPECT_EQ(unsqueeze.ints_or("axes", {}), (Dims{1, 2}));  // (3) beside (2, 3, 4, 5): (3, 1, 1)
    EXPECT_TRUE(graph.node(NodeId{1}).attributes.empty());
    EXPECT_EQ(graph.node(NodeId{1}).inputs[1], unsqueeze.outputs[0]);
  }
  EXPECT_EQ(axis(3).node_count(), 1u);  // the last axis: as today
  EXPECT_THAT(
      refusal_of(old_model(6, node("Add", {"x", "w"}, {"y"},
                                   {int_attribute("broadcast", 1), int_attribute("axis", 4)}))),
      HasSubstr("Add 'y' of operator set 6: its axis does not fit"));
}

TEST(OldOpsets, WithoutAxisTheLastAxesAreMeantAsToday) {
  const Graph graph = read_old(6, node("Mul", {"x", "w"}, {"y"}, {int_attribute("broadcast", 1)}));
  EXPECT_EQ(graph.node_count(), 1u);
  EXPECT_TRUE(graph.node(NodeId{0}).attributes.empty());
}

TEST(OldOpsets, AnAxisBesideAnUnknownRankIsRefused) {
  const std::string bytes = model(
      testing::graph({.nodes = {node("Mystery", {"x"}, {"z"}, {}, "somewhere"),
                                node("Add", {"z", "w"}, {"y"},
                                     {int_attribute("broadcast", 1), int_attribute("axis", 1)})},
                      .initializers = {raw_tensor("w", kFloat, {3}, bytes_of({1.f, 2.f, 3.f}))}}),
      {opset(6), opset(1, "somewhere")});
  EXPECT_THAT(refusal_of(bytes), HasSubstr("the rank of its input 0 is not known"));
}

TEST(OldOpsets, ASlopePerChannelGetsTheInputsRank) {
  const Graph graph = read_old(6, node("PRelu", {"x", "w"}, {"y"}));
  ASSERT_EQ(graph.node_count(), 2u);
  EXPECT_EQ(graph.node(NodeId{0}).ints_or("axes", {}), (Dims{1, 2}));
}

TEST(OldOpsets, AttributesBecomeWhatTheyAreToday) {
  const Graph reshaped =
      read_old(1, node("Reshape", {"x"}, {"y"},
                       {ints_attribute("shape", {6, 20}), ints_attribute("consumed_inputs", {0})}));
  const Node& reshape = reshaped.node(NodeId{0});
  ASSERT_EQ(reshape.inputs.size(), 2u);
  EXPECT_EQ(*reshaped.initializer(reshape.inputs[1]), Tensor::of_int64({2}, {6, 20}));
  EXPECT_TRUE(reshape.attributes.empty());

  const Graph cast = read_old(5, node("Cast", {"x"}, {"y"}, {string_attribute("to", "INT64")}));
  EXPECT_EQ(cast.node(NodeId{0}).int_or("to", 0), kInt64);

  const Graph pad = read_old(
      1, node("Pad", {"x"}, {"y"}, {ints_attribute("paddings", {0, 0, 1, 1, 0, 0, 1, 1})}));
  EXPECT_EQ(pad.node(NodeId{0}).ints_or("pads", {}).size(), 8u);

  const Graph joined = read_old(3, node("Concat", {"x", "x"}, {"y"}));
  EXPECT_EQ(joined.node(NodeId{0}).int_or("axis", 0), 1);

  const Graph upsampled =
      read_old(1, node("Upsample", {"x"}, {"y"},
                       {float_attribute("height_scale", 2), float_attribute("width_scale", 3),
                        string_attribute("mode", "bilinear")}));
  const Node& upsample = upsampled.node(NodeId{0});
  EXPECT_EQ(*upsample.get<std::vector<float>>("scales"), (std::vector<float>{1, 1, 2, 3}));
  EXPECT_EQ(upsample.string_or("mode", ""), "linear");

  const Graph norm = read_old(6, node("BatchNormalization", {"x", "w", "w", "w", "w"}, {"y"},
                                      {int_attribute("is_test", 1)}));
  EXPECT_TRUE(norm.node(NodeId{0}).attributes.empty());
}

TEST(OldOpsets, WhatCannotBeRewrittenIsRefusedByName) {
  EXPECT_THAT(refusal_of(old_model(1, node("Tile", {"x", "w", "w"}, {"y"}))),
              HasSubstr("Tile 'y' of operator set 1"));
  EXPECT_THAT(refusal_of(old_model(1, node("Split", {"x", "x"}, {"y"}))),
              HasSubstr("its lengths are computed"));
  EXPECT_THAT(
      refusal_of(old_model(5, node("Cast", {"x"}, {"y"}, {string_attribute("to", "QUATERNION")}))),
      HasSubstr("names no element type"));
  EXPECT_THAT(refusal_of(old_model(1, node("LpPool", {"x"}, {"y"}, {float_attribute("p", 2.5f)}))),
              HasSubstr("is no whole number"));
}

TEST(OldOpsets, BodiesAreRewrittenToo) {
  const std::string body =
      branch({node("Add", {"x", "x"}, {"z"}, {int_attribute("broadcast", 1)})}, "z");
  const Graph graph =
      read_bytes(model(testing::graph({.nodes = {node("If", {"c"}, {"y"},
                                                      {graph_attribute("then_branch", body),
                                                       graph_attribute("else_branch", body)})},
                                       .inputs = {value_info("x"), value_info("c", 9, {})}}),
                       {opset(6)}));
  const auto* then_branch = graph.node(NodeId{0}).get<GraphPtr>("then_branch");
  EXPECT_EQ((*then_branch)->opset(), 7);
  EXPECT_TRUE((*then_branch)->node(NodeId{0}).attributes.empty());
}

}  // namespace
}  // namespace assay
