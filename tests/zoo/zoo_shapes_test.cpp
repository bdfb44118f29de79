// What the zoo's graphs compute with, once their shapes are inferred.
#include <gtest/gtest.h>

#include "assay/bind.h"
#include "assay/infer.h"
#include "assay/zoo.h"

namespace assay {
namespace {

Inferred inferred(const std::string& spec, std::optional<std::int64_t> batch = {}) {
  return infer_shapes(bind_inputs(zoo_model(spec), {.batch = batch}).graph);
}

std::int64_t elements(const Graph& graph, ValueId id) {
  return graph.value(id).type.shape.value().elements().value();
}

std::int64_t dim(const Graph& graph, ValueId id, std::size_t from_the_end) {
  const Shape& shape = graph.value(id).type.shape.value();
  return shape[shape.rank() - from_the_end].value();
}

std::int64_t macs(const Graph& graph, const Node& node) {
  const std::int64_t outputs = elements(graph, node.outputs[0]);
  if (node.is("Conv")) {
    const Shape& weight = graph.value(node.inputs[1]).type.shape.value();
    return outputs * weight[1].value() * weight[2].value() * weight[3].value();
  }
  if (node.is("MatMul") || node.is("Gemm")) return outputs * dim(graph, node.inputs[0], 1);
  return 0;
}

std::int64_t macs(const Graph& graph) {
  std::int64_t total = 0;
  for (const Node& node : graph.nodes()) total += macs(graph, node);
  return total;
}

TEST(ZooShapes, ClassicNetworksDoTheirKnownWork) {
  EXPECT_EQ(macs(inferred("resnet18").graph), 1'814'073'344);
  EXPECT_EQ(macs(inferred("resnet50").graph), 4'089'184'256);
  EXPECT_EQ(macs(inferred("vgg16").graph), 15'470'264'320);
  EXPECT_EQ(macs(inferred("mobilenet_v2").graph), 300'774'272);
  EXPECT_EQ(macs(inferred("vit_b16").graph), 17'563'828'224);
  EXPECT_EQ(macs(inferred("gpt2_small").graph), 16'114'089'984);
}

TEST(ZooShapes, AHeadOnTheLastTokenSavesTheOthers) {
  const std::int64_t head = std::int64_t{768} * 50257;
  EXPECT_EQ(macs(inferred("gpt2_small:last_only=1").graph), 16'114'089'984 - 127 * head);
}

TEST(ZooShapes, ANewTokenAttendsToThePastAndItself) {
  // 12 layers of 12·768² weights, the head, and scores and sums over 201 tokens.
  const std::int64_t weights = 12 * 12 * 768 * 768 + 50257 * 768;
  EXPECT_EQ(macs(inferred("gpt2_small_decode:past=200").graph), weights + 12 * 2 * 768 * 201);
  const Graph graph = inferred("gpt2_small_decode:past=200").graph;
  EXPECT_EQ(graph.value(graph.outputs()[1]).name, "present.0.key");
  EXPECT_EQ(graph.value(graph.outputs()[1]).type.shape, (Shape{1, 12, 201, 64}));
}

TEST(ZooShapes, EveryShapeIsKnownAtTheStandardBatchAndAtAnother) {
  for (const ZooEntry& entry : zoo_entries()) {
    const Inferred one = inferred(entry.name);
    const Inferred eight = inferred(entry.name, 8);
    EXPECT_TRUE(one.unresolved.empty()) << entry.name << ": " << one.unresolved[0].reason;
    EXPECT_TRUE(eight.unresolved.empty()) << entry.name << ": " << eight.unresolved[0].reason;
    EXPECT_TRUE(one.warnings.empty()) << entry.name << ": " << one.warnings[0];
    EXPECT_EQ(macs(eight.graph), 8 * macs(one.graph)) << entry.name;
    Shape expected = one.graph.value(one.graph.outputs()[0]).type.shape.value();
    EXPECT_EQ(expected[0], Dim(1)) << entry.name;
    expected[0] = 8;
    EXPECT_EQ(eight.graph.value(eight.graph.outputs()[0]).type.shape, expected) << entry.name;
  }
}

TEST(ZooShapes, ABatchGivenToTheZooIsTheOneBoundLater) {
  for (const ZooEntry& entry : zoo_entries()) {
    const Inferred built = inferred(entry.name + ":batch=8");
    const Inferred bound = inferred(entry.name, 8);
    const auto type = [](const Inferred& model) {
      return model.graph.value(model.graph.outputs()[0]).type.to_string();
    };
    EXPECT_EQ(type(built), type(bound)) << entry.name;
  }
}

TEST(ZooShapes, Gpt2TakesOtherLengthsThanItWasBuiltFor) {
  const Graph bound =
      bind_inputs(zoo_model("gpt2_small"), {.input_shapes = {{"input_ids", Shape{2, 64}}}}).graph;
  const Inferred model = infer_shapes(bound);
  EXPECT_EQ(model.graph.value(model.graph.outputs()[0]).type.shape, (Shape{2, 64, 50257}));
}

}  // namespace
}  // namespace assay
