#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/text_form.h"
#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

// A model with one initializer "w" that is the graph's output.
Tensor stored(const std::string& tensor) {
  const Graph graph = read_bytes(model(
      testing::graph({.initializers = {tensor}, .inputs = {}, .outputs = {value_info("w")}})));
  return graph.initializers()[0].tensor;
}

TEST(ReadOnnx, KeepsWhatTheFileSaysOfItself) {
  std::string bytes = model_with_nodes({node("Relu", {"x"}, {"y"}, {}, "", "act")});
  protozero::pbf_writer writer(bytes);
  writer.add_string(3, "1.2");
  writer.add_string(4, "org.example");
  writer.add_int64(5, 42);
  writer.add_string(6, "a model");
  writer.add_message(14, entry("author", "somebody"));
  const Graph graph = read_bytes(bytes);
  EXPECT_EQ(graph.name, "g");
  EXPECT_EQ(graph.opset(), 17);
  EXPECT_EQ(graph.info.ir_version, 8);
  EXPECT_EQ(graph.info.producer_name, "model_maker");
  EXPECT_EQ(graph.info.producer_version, "1.2");
  EXPECT_EQ(graph.info.domain, "org.example");
  EXPECT_EQ(graph.info.model_version, 42);
  EXPECT_EQ(graph.info.doc, "a model");
  ASSERT_EQ(graph.info.metadata.size(), 1u);
  EXPECT_EQ(graph.info.metadata[0].second, "somebody");
  ASSERT_EQ(graph.node_count(), 1u);
  EXPECT_EQ(graph.node(NodeId{0}).name, "act");
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.to_string(), "float32[2]");
}

TEST(ReadOnnx, TakesAiOnnxForTheStandardDomain) {
  const Graph graph =
      read_bytes(model(testing::graph({.nodes = {node("Relu", {"x"}, {"y"}, {}, "ai.onnx")}}),
                       {opset(13, "ai.onnx"), opset(2, "ai.onnx.ml")}));
  EXPECT_TRUE(graph.node(NodeId{0}).is("Relu"));
  EXPECT_EQ(graph.opset(), 13);
  EXPECT_EQ(graph.opset("ai.onnx.ml"), 2);
}

TEST(ReadOnnx, ViewsRawAndPackedFloatsInPlaceAndDecodesLooseOnes) {
  const Tensor raw = stored(raw_tensor("w", kFloat, {2}, bytes_of({1.5f, -2.0f})));
  EXPECT_EQ(raw, Tensor::of_float({2}, {1.5f, -2.0f}));
  const std::vector<float> numbers = {1.5f, -2.0f};
  const Tensor packed = stored(tensor_with("w", kFloat, {2}, [&](auto& writer) {
    writer.add_packed_float(4, numbers.begin(), numbers.end());
  }));
  EXPECT_EQ(packed, raw);
  const Tensor loose = stored(tensor_with("w", kFloat, {2}, [&](auto& writer) {
    for (const float number : numbers) writer.add_float(4, number);
  }));
  EXPECT_EQ(loose, raw);
}

TEST(ReadOnnx, TensorsOfAMappedFileShareItsStorage) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "m.onnx", model_with_nodes({node("Add", {"x", "a"}, {"t"}), node("Add", {"t", "b"}, {"y"})},
                                 {raw_tensor("a", kFloat, {2}, bytes_of({1.0f, 2.0f})),
                                  raw_tensor("b", kFloat, {2}, bytes_of({3.0f, 4.0f}))}));
  const Graph graph = read_onnx(path);
  const auto a = graph.initializers()[0].tensor.bytes();
  const auto b = graph.initializers()[1].tensor.bytes();
  EXPECT_GT(b.data(), a.data());
  EXPECT_LT(b.data() - a.data(), 100);
}

TEST(ReadOnnx, DecodesEveryTypeKeptInInt32Data) {
  const auto packed = [](int type, const Dims& dims, std::vector<std::int32_t> numbers) {
    return stored(tensor_with("w", type, dims, [&](auto& writer) {
      writer.add_packed_int32(5, numbers.begin(), numbers.end());
    }));
  };
  EXPECT_EQ(packed(6, {2}, {-7, 70000}).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{-7, 70000}));
  EXPECT_EQ(packed(2, {2}, {0, 255}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(packed(3, {2}, {-128, 127}).to_vector<std::int8_t>(),
            (std::vector<std::int8_t>{-128, 127}));
  EXPECT_EQ(packed(4, {1}, {65535}).to_vector<std::uint16_t>()[0], 65535);
  EXPECT_EQ(packed(5, {1}, {-32768}).to_vector<std::int16_t>()[0], -32768);
  EXPECT_EQ(packed(9, {2}, {0, 1}).to_int64(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(packed(10, {1}, {0x3c00}).to_double()[0], 1.0);  // float16
  EXPECT_EQ(packed(16, {1}, {0x3f80}).to_double()[0], 1.0);  // bfloat16
  // Three 4-bit numbers in two bytes, the first in the low half: 1, -1, 7.
  EXPECT_EQ(packed(22, {3}, {0xf1, 0x07}).to_int64(), (std::vector<std::int64_t>{1, -1, 7}));
}

TEST(ReadOnnx, DecodesInt64Uint64DoubleAndStringData) {
  const Tensor integers = stored(tensor_with("w", kInt64, {3}, [](auto& writer) {
    const std::vector<std::int64_t> first = {-1, 1LL << 40};
    writer.add_packed_int64(7, first.begin(), first.end());
    writer.add_int64(7, 5);  // a packed piece and a loose number
  }));
  EXPECT_EQ(integers.to_int64(), (std::vector<std::int64_t>{-1, 1LL << 40, 5}));
  const Tensor naturals = stored(tensor_with("w", 12, {1}, [](auto& writer) {
    const std::vector<std::uint64_t> numbers = {4294967295u};
    writer.add_packed_uint64(11, numbers.begin(), numbers.end());
  }));
  EXPECT_EQ(naturals.to_vector<std::uint32_t>()[0], 4294967295u);
  const Tensor reals = stored(tensor_with("w", 11, {2}, [](auto& writer) {
    const std::vector<double> numbers = {0.5, -0.25};
    writer.add_packed_double(10, numbers.begin(), numbers.end());
  }));
  EXPECT_EQ(reals.to_double(), (std::vector<double>{0.5, -0.25}));
  const Tensor texts = stored(tensor_with("w", 8, {2}, [](auto& writer) {
    writer.add_bytes(6, "one");
    writer.add_bytes(6, "");
  }));
  EXPECT_EQ(texts.strings(), (std::vector<std::string>{"one", ""}));
}

TEST(ReadOnnx, AcceptsScalarsAndTensorsWithoutElements) {
  EXPECT_EQ(stored(raw_tensor("w", kFloat, {}, bytes_of({3.0f}))).to_double()[0], 3.0);
  EXPECT_EQ(stored(raw_tensor("w", kFloat, {0, 4}, "")).elements(), 0);
  EXPECT_EQ(stored(tensor_with("w", kInt64, {0}, [](auto&) {})).elements(), 0);
}

TEST(ReadOnnx, AnInputThatIsAlsoStoredIsAnInitializerOnly) {
  const Graph graph = read_bytes(
      model(testing::graph({.nodes = {node("Add", {"x", "w"}, {"y"})},
                            .initializers = {raw_tensor("w", kFloat, {2}, bytes_of({1.0f, 2.0f}))},
                            .inputs = {value_info("w"), value_info("x")}})));
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.value(graph.inputs()[0]).name, "x");
}

TEST(ReadOnnx, ConstantsBecomeInitializers) {
  const auto one = [](const std::string& attribute_message) {
    const Graph graph = read_bytes(model_with_nodes(
        {node("Constant", {}, {"c"}, {attribute_message}), node("Foo", {"x", "c"}, {"y"})}));
    EXPECT_EQ(graph.node_count(), 1u);
    return graph.initializers()[0].tensor;
  };
  EXPECT_EQ(one(int_attribute("value_int", 7)), Tensor::of_int64({}, {7}));
  EXPECT_EQ(one(float_attribute("value_float", 0.5f)), Tensor::of_float({}, {0.5f}));
  EXPECT_EQ(one(tensor_attribute("value", raw_tensor("", kFloat, {1}, bytes_of({2.0f})))),
            Tensor::of_float({1}, {2.0f}));
  EXPECT_EQ(one(attribute("value_ints", 7,
                          [](auto& writer) {
                            writer.add_int64(8, 1);
                            writer.add_int64(8, 2);
                          })),
            Tensor::of_int64({2}, {1, 2}));
  EXPECT_EQ(one(attribute("value_floats", 6, [](auto& writer) { writer.add_float(7, 4.0f); })),
            Tensor::of_float({1}, {4.0f}));
  EXPECT_EQ(one(attribute("value_string", 3, [](auto& writer) { writer.add_bytes(4, "s"); })),
            Tensor({}, std::vector<std::string>{"s"}));
  EXPECT_EQ(one(attribute("value_strings", 8, [](auto& writer) { writer.add_bytes(9, "s"); })),
            Tensor({1}, std::vector<std::string>{"s"}));
}

TEST(ReadOnnx, AConstantThatIsAGraphOutputStaysANode) {
  const Graph graph =
      read_bytes(model_with_nodes({node("Constant", {}, {"y"}, {int_attribute("value_int", 7)})}));
  ASSERT_EQ(graph.node_count(), 1u);
  EXPECT_EQ(graph.node(NodeId{0}).int_or("value_int", 0), 7);
  EXPECT_TRUE(graph.initializers().empty());
}

TEST(ReadOnnx, ListsValuesAsInputsInitializersThenOutputs) {
  const Graph graph = read_bytes(model_with_nodes(
      {node("Relu", {"x"}, {"t"}), node("Constant", {}, {"c"}, {int_attribute("value_int", 7)}),
       node("Add", {"t", "c"}, {"y"})}));
  std::vector<std::string> names;
  for (const auto& value : graph.values()) names.push_back(value.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "c", "t", "y"}));
}

TEST(ReadOnnx, OptionalInputsAndOutputsLeftOutAreInvalid) {
  const Graph graph = read_bytes(model_with_nodes({node("Foo", {"x", "", "x"}, {"", "y"})}));
  const Node& foo = graph.node(NodeId{0});
  EXPECT_TRUE(foo.has_input(0));
  EXPECT_FALSE(foo.has_input(1));
  EXPECT_FALSE(foo.has_output(0));
  EXPECT_TRUE(foo.has_output(1));
}

TEST(ReadOnnx, KeepsDeclaredTypesOfIntermediateValues) {
  const Graph graph = read_bytes(model(
      testing::graph({.nodes = {node("Relu", {"x"}, {"t"}), node("Relu", {"t"}, {"y"})},
                      .value_infos = {value_info("t", kFloat, {5, -1}), value_info("unused")}})));
  EXPECT_EQ(graph.value(*graph.find_value("t")).type.to_string(), "float32[5x?]");
  EXPECT_FALSE(graph.find_value("unused").has_value());
}

TEST(ReadOnnx, ReadsSequenceOptionalAndMapTypes) {
  std::string sequence;
  protozero::pbf_writer(sequence).add_message(1, tensor_type(kFloat, {3}));
  std::string type;
  protozero::pbf_writer(type).add_message(4, sequence);
  std::string optional;
  protozero::pbf_writer(optional).add_message(1, type);
  std::string outer;
  protozero::pbf_writer(outer).add_message(9, optional);
  const Graph graph = read_bytes(model(
      testing::graph({.nodes = {node("Foo", {"x"}, {"y"})}, .inputs = {value_info("x", outer)}})));
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.to_string(), "optional(sequence(float32[3]))");
}

TEST(ReadOnnx, SubgraphsCaptureThroughEveryLevel) {
  const std::string inner = branch({node("Relu", {"x"}, {"deep"})}, "deep");
  const std::string outer =
      branch({node("If", {"c"}, {"middle"},
                   {graph_attribute("then_branch", inner), graph_attribute("else_branch", inner)})},
             "middle");
  const Graph graph =
      read_bytes(model(testing::graph({.nodes = {node("If", {"c"}, {"y"},
                                                      {graph_attribute("then_branch", outer),
                                                       graph_attribute("else_branch", outer)})},
                                       .inputs = {value_info("x"), value_info("c", 9, {})}})));
  const Graph& middle = **graph.node(NodeId{0}).get<GraphPtr>("then_branch");
  const Graph& deep = **middle.node(NodeId{0}).get<GraphPtr>("else_branch");
  ASSERT_EQ(middle.captures().size(), 2u);  // c for its own If, x for the branches below
  ASSERT_EQ(deep.captures().size(), 1u);
  EXPECT_EQ(deep.value(deep.captures()[0].inner).name, "x");
  EXPECT_EQ(middle.value(deep.captures()[0].outer).name, "x");
  EXPECT_EQ(deep.value(deep.captures()[0].inner).type.to_string(), "float32[2]");
}

TEST(ReadOnnx, ASubgraphMayPutOutAnOuterValueDirectly) {
  const Graph graph = read_bytes(model(testing::graph(
      {.nodes = {node("If", {"c"}, {"y"},
                      {graph_attribute("then_branch", branch({}, "x")),
                       graph_attribute("else_branch", branch({node("Relu", {"x"}, {"r"})}, "r"))})},
       .inputs = {value_info("x"), value_info("c", 9, {})}})));
  const Graph& branch_graph = **graph.node(NodeId{0}).get<GraphPtr>("then_branch");
  EXPECT_EQ(branch_graph.captures()[0].inner, branch_graph.outputs()[0]);
}

TEST(ReadOnnx, AttributesWithoutAStatedTypeAreReadByTheFieldTheyUse) {
  std::string untyped;
  protozero::pbf_writer writer(untyped);
  writer.add_string(1, "axis");
  writer.add_int64(3, 4);
  const Graph graph = read_bytes(model_with_nodes({node("Foo", {"x"}, {"y"}, {untyped})}));
  EXPECT_EQ(graph.node(NodeId{0}).int_or("axis", 0), 4);
}

}  // namespace
}  // namespace assay
