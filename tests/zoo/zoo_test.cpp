#include "assay/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "assay/error.h"
#include "assay/verify.h"
#include "support/error_message.h"

namespace assay {
namespace {

std::string problem_with(const std::string& spec) {
  return error_message([&] { zoo_model(spec); });
}

// Floating initializers of more than one element, each once, without running statistics.
std::int64_t parameters(const Graph& graph) {
  std::set<ValueId> statistics;
  for (const Node& node : graph.nodes()) {
    if (node.is("BatchNormalization")) statistics.insert({node.inputs[3], node.inputs[4]});
  }
  std::int64_t total = 0;
  for (const auto& [value, tensor] : graph.initializers()) {
    const bool counts = is_floating(tensor.type()) && tensor.elements() > 1;
    if (counts && !statistics.contains(value)) total += tensor.elements();
  }
  return total;
}

bool has_node(const Graph& graph, std::string_view op, std::string_view name) {
  return std::ranges::any_of(graph.nodes(),
                             [&](const Node& node) { return node.op == op && node.name == name; });
}

std::int64_t count_of(const Graph& graph, std::string_view op) {
  return std::ranges::count(graph.nodes(), op, &Node::op);
}

TEST(Zoo, ClassicNetworksHaveTheirKnownParameters) {
  EXPECT_EQ(parameters(zoo_model("resnet18")), 11'689'512);
  EXPECT_EQ(parameters(zoo_model("resnet50")), 25'557'032);
  EXPECT_EQ(parameters(zoo_model("vgg16")), 138'357'544);
  EXPECT_EQ(parameters(zoo_model("mobilenet_v2")), 3'504'872);
  EXPECT_EQ(parameters(zoo_model("vit_b16")), 86'567'656);
  EXPECT_EQ(parameters(zoo_model("gpt2_small")), 124'439'808);
}

TEST(Zoo, SmallNetworksHaveTheParametersOfTheirLayers) {
  const auto linear = [](int in, int out) { return in * out + out; };
  const auto conv = [](int in, int out, int kernel) { return in * out * kernel * kernel + out; };
  EXPECT_EQ(parameters(zoo_model("mlp")), linear(784, 256) + linear(256, 128) + linear(128, 10));
  EXPECT_EQ(parameters(zoo_model("small_cnn")), 20'490);
  EXPECT_EQ(parameters(zoo_model("small_cnn_gap")), 5'130);
  EXPECT_EQ(parameters(zoo_model("lenet5")),
            conv(1, 6, 5) + conv(6, 16, 5) + linear(400, 120) + linear(120, 84) + linear(84, 10));
  EXPECT_EQ(parameters(zoo_model("lstm")), 4 * 256 * (128 + 256) + 8 * 256);
  EXPECT_EQ(parameters(zoo_model("encoder")),
            4 * (linear(256, 3 * 256) + linear(256, 256) + linear(256, 1024) + linear(1024, 256) +
                 2 * 2 * 256));
  // Scale and shift of the norm, the projection, the head; the head's one bias is no parameter.
  EXPECT_EQ(parameters(zoo_model("stream_mlp")), 2 * 64 + linear(64, 64) + 64);
}

TEST(Zoo, LayersBearTheNamesPeopleKnow) {
  const Graph small = zoo_model("small_cnn");
  EXPECT_TRUE(has_node(small, "Conv", "conv1"));
  EXPECT_TRUE(has_node(small, "Conv", "conv2"));
  EXPECT_TRUE(has_node(small, "Gemm", "classifier"));
  const Graph resnet = zoo_model("resnet50");
  EXPECT_TRUE(has_node(resnet, "Conv", "layer1.0.conv1"));
  EXPECT_TRUE(has_node(resnet, "BatchNormalization", "layer4.2.bn3"));
  EXPECT_TRUE(has_node(resnet, "Conv", "layer2.0.downsample.0"));
  EXPECT_TRUE(resnet.find_value("layer1.0.conv1.weight").has_value());
  EXPECT_TRUE(has_node(zoo_model("mobilenet_v2"), "Clip", "features.1.conv.0.2"));
  const Graph stream = zoo_model("stream_mlp");
  EXPECT_TRUE(has_node(stream, "BatchNormalization", "input_normalization"));
  EXPECT_TRUE(has_node(stream, "Gemm", "linear_projection"));
  EXPECT_TRUE(has_node(stream, "Relu", "activation"));
  EXPECT_TRUE(has_node(stream, "Gemm", "decision_head"));
}

TEST(Zoo, ABottleneckCarriesItsStrideInThe3x3) {
  const Graph graph = zoo_model("resnet50");
  const auto strides = [&](std::string_view name) {
    const auto node = std::ranges::find(graph.nodes(), name, &Node::name);
    return node == graph.nodes().end() ? std::vector<std::int64_t>{} : node->ints_or("strides", {});
  };
  EXPECT_EQ(strides("layer2.0.conv1"), (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(strides("layer2.0.conv2"), (std::vector<std::int64_t>{2, 2}));
}

TEST(Zoo, TheHeadOfGpt2IsItsTokenEmbedding) {
  const Graph graph = zoo_model("gpt2_small");
  const ValueId embedding = graph.find_value("wte.weight").value();
  const auto readers = consumers(graph);
  std::vector<std::string> ops;
  for (const NodeId id : readers[embedding.number]) ops.push_back(graph.node(id).op);
  EXPECT_EQ(ops, (std::vector<std::string>{"Gather", "Transpose"}));
}

TEST(Zoo, TheCausalMaskLetsATokenSeeItselfAndTheTokensBefore) {
  const Graph graph = zoo_model("gpt2_small");
  const Tensor* mask = graph.initializer(graph.find_value("causal_mask").value());
  ASSERT_NE(mask, nullptr);
  EXPECT_EQ(mask->type(), DataType::Bool);
  const auto bytes = mask->bytes();
  EXPECT_EQ(bytes[0 * 1024 + 0], std::byte{1});
  EXPECT_EQ(bytes[0 * 1024 + 1], std::byte{0});
  EXPECT_EQ(bytes[1023 * 1024 + 0], std::byte{1});
  EXPECT_EQ(bytes[1022 * 1024 + 1023], std::byte{0});
}

TEST(Zoo, ParametersShapeTheGraph) {
  const Graph graph = zoo_model("encoder:layers=2,width=128,heads=8,length=10,batch=3");
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (Shape{3, 10, 128}));
  EXPECT_EQ(count_of(graph, "Softmax"), 2);
  EXPECT_FALSE(has_node(zoo_model("gpt2_small"), "Gather", "last_token"));
  EXPECT_TRUE(has_node(zoo_model("gpt2_small:last_only=1"), "Gather", "last_token"));
}

TEST(Zoo, EveryEntryTakesABatchAndIsWellFormedAtBothEndsOfItsRanges) {
  for (const ZooEntry& entry : zoo_entries()) {
    SCOPED_TRACE(entry.name);
    EXPECT_FALSE(entry.summary.empty());
    std::string smallest = entry.name + ":";
    std::string largest = entry.name + ":";
    for (const ZooParameter& parameter : entry.parameters) {
      const bool is_first = &parameter == &entry.parameters.front();
      const std::string assignment = (is_first ? "" : ",") + parameter.name + "=";
      smallest += assignment + std::to_string(parameter.smallest);
      largest += assignment + std::to_string(parameter.largest);
      EXPECT_FALSE(parameter.meaning.empty());
    }
    EXPECT_EQ(entry.parameters.front().name, "batch");
    EXPECT_EQ(problem_with(smallest), "");
    // An encoder of 64 layers of 8192 has 200 GB of weights: they must not be made.
    EXPECT_EQ(problem_with(largest), "");
    EXPECT_EQ(zoo_model(entry.name).opset(), 17);
  }
}

TEST(Zoo, MistypedNamesGetTheNearest) {
  EXPECT_EQ(problem_with("resnet81"), "the zoo has no model 'resnet81'; did you mean 'resnet18'?");
  EXPECT_EQ(problem_with("encoder:layer=3"),
            "zoo model 'encoder' has no parameter 'layer'; did you mean 'layers'?");
  EXPECT_NE(problem_with("").find("there are mlp, dense"), std::string::npos) << problem_with("");
  EXPECT_NE(problem_with("a\x1b[31m"), "");
  EXPECT_EQ(problem_with("a\x1b[31m").find('\x1b'), std::string::npos);
}

TEST(Zoo, BadSettingsAreRefusedWithTheirRange) {
  EXPECT_EQ(problem_with("encoder:layers=0"),
            "zoo model 'encoder': layers=0 should be an integer from 1 to 64 (encoder layers)");
  EXPECT_NE(problem_with("encoder:layers=65"), "");
  EXPECT_NE(problem_with("mlp:batch=-1"), "");
  EXPECT_NE(problem_with("mlp:batch=1.5"), "");
  EXPECT_NE(problem_with("mlp:batch="), "");
  EXPECT_NE(problem_with("mlp:batch=99999999999999999999"), "");
  EXPECT_EQ(problem_with("mlp:batch"),
            "zoo model 'mlp': 'batch' should read NAME=NUMBER, as in 'mlp:batch=8'");
  EXPECT_NE(problem_with("mlp:"), "");
  EXPECT_NE(problem_with("mlp:batch=1,"), "");
  EXPECT_EQ(problem_with("mlp:batch=1,batch=2"),
            "zoo model 'mlp': parameter 'batch' is given twice");
  EXPECT_EQ(problem_with("encoder:width=250,heads=4"),
            "zoo model 'encoder': width=250 is not a multiple of heads=4");
}

TEST(Zoo, WeightsAreTheSameEveryTimeAndFinite) {
  const Graph first = zoo_model("small_cnn");
  EXPECT_TRUE(first == zoo_model("small_cnn"));
  for (const auto& [value, tensor] : first.initializers()) {
    const auto numbers = tensor.to_vector<float>();
    EXPECT_TRUE(std::ranges::all_of(numbers, [](float x) { return std::abs(x) < 2.0f; }))
        << first.value(value).name;
    EXPECT_NE(std::ranges::min(numbers), std::ranges::max(numbers)) << first.value(value).name;
  }
}

}  // namespace
}  // namespace assay
