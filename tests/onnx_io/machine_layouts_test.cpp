// Operators in layouts of one machine are read as operators with channels first.
#include <gtest/gtest.h>

#include "assay/error.h"
#include "assay/infer.h"
#include "onnx_io/machine_layouts.h"

namespace assay::onnx {
namespace {

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) ops.push_back(node.op);
  return ops;
}

class Layouts : public ::testing::Test {
 protected:
  Layouts() { graph.opsets = {{"", 17}, {"com.microsoft", 1}}; }

  ValueId input(DataType type, const Dims& dims) {
    const ValueId id =
        graph.add_value("x" + std::to_string(graph.value_count()), tensor_type(type, Shape(dims)));
    graph.add_input(id);
    return id;
  }
  ValueId constant(Tensor tensor) {
    const ValueId id = graph.add_value("c" + std::to_string(graph.value_count()));
    graph.add_initializer(id, std::move(tensor));
    return id;
  }
  ValueId floats(const Dims& dims, std::vector<float> numbers) {
    return constant(Tensor::of<float>(DataType::Float32, dims, numbers));
  }
  ValueId bytes(const Dims& dims, std::vector<std::int8_t> numbers) {
    return constant(Tensor::of<std::int8_t>(DataType::Int8, dims, numbers));
  }
  ValueId add(const char* op, const char* domain, std::vector<ValueId> inputs,
              std::vector<Attribute> attributes) {
    const ValueId result = graph.add_value("y" + std::to_string(graph.value_count()));
    graph.add_node({.name = op,
                    .op = op,
                    .domain = domain,
                    .inputs = std::move(inputs),
                    .outputs = {result},
                    .attributes = std::move(attributes)});
    return result;
  }
  Shape shape_of_output(const Graph& read) {
    const Inferred inferred = infer_shapes(read);
    return *inferred.graph.value(read.outputs()[0]).type.shape;
  }

  Graph graph;
};

TEST_F(Layouts, NeighboursWithChannelsLastShareOneTranspose) {
  const ValueId x = input(DataType::Int8, {1, 6, 5, 4});
  const ValueId scale = floats({}, {0.1f});
  const ValueId zero = bytes({}, {0});
  const ValueId weights = bytes({8, 4, 1, 1}, std::vector<std::int8_t>(32, 1));
  const ValueId y =
      add("QLinearConv", "com.microsoft", {x, scale, zero, weights, scale, zero, scale, zero},
          {{"channels_last", std::int64_t{1}}});
  const ValueId pooled =
      add("NhwcMaxPool", "com.microsoft", {y}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
  graph.add_output(pooled);
  const Graph read = without_machine_layouts(graph);
  EXPECT_EQ(ops_of(read),
            (std::vector<std::string>{"Transpose", "QLinearConv", "MaxPool", "Transpose"}));
  EXPECT_EQ(shape_of_output(read), Shape({1, 5, 4, 8}));
}

TEST_F(Layouts, FiltersInBlocksAreUnpacked) {
  constexpr std::int64_t kBlock = 16;
  // Output o, input i: the number 100·o + i, stored [output block][input block][tap][i][o].
  std::vector<float> packed;
  for (std::int64_t i = 0; i < kBlock; ++i) {
    for (std::int64_t o = 0; o < kBlock; ++o) packed.push_back(static_cast<float>(100 * o + i));
  }
  const ValueId x = input(DataType::Float32, {1, kBlock, 3, 3});
  const ValueId inside = add("ReorderInput", "com.microsoft.nchwc", {x}, {});
  const ValueId y = add("Conv", "com.microsoft.nchwc", {inside, floats({16, 16, 1, 1}, packed)},
                        {{"activation", std::string("Relu")}});
  const ValueId some =
      add("ReorderOutput", "com.microsoft.nchwc", {y}, {{"channels", std::int64_t{10}}});
  graph.add_output(some);
  const Graph read = without_machine_layouts(graph);
  EXPECT_EQ(ops_of(read), (std::vector<std::string>{"Identity", "FusedConv", "Slice", "Identity"}));
  const auto filters = read.initializer(read.nodes()[1].inputs[1])->to_vector<float>();
  EXPECT_EQ(filters[0 * 16 + 3], 3);
  EXPECT_EQ(filters[7 * 16 + 5], 705);
  EXPECT_EQ(shape_of_output(read), Shape({1, 10, 3, 3}));
}

TEST_F(Layouts, ABlockedOpWithoutAPlainFormIsRefusedByName) {
  const ValueId x = input(DataType::Float32, {1, 16, 3, 3});
  graph.add_output(add("Upsample", "com.microsoft.nchwc", {x}, {}));
  try {
    without_machine_layouts(graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Upsample"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::onnx
