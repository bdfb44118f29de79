// QLinearSoftmax is to the last bit that of ONNX Runtime, whose operator it is. The expected
// numbers are results of ONNX Runtime 1.31; with a logarithm in double precision one number of each
// row would be a step away.
#include <gtest/gtest.h>

#include "assay/graph.h"
#include "assay/program.h"

namespace assay {
namespace {

using Bytes = std::vector<std::uint8_t>;

ValueId add_constant(Graph& graph, const std::string& name, Tensor tensor) {
  const ValueId id = graph.add_value(name, tensor_type(tensor.type(), Shape(tensor.dims())));
  graph.add_initializer(id, std::move(tensor));
  return id;
}

Tensor row_of(const Bytes& numbers) {
  return Tensor::of<std::uint8_t>(DataType::UInt8, {1, static_cast<std::int64_t>(numbers.size())},
                                  numbers);
}

Bytes softmax_of(const Bytes& numbers, float scale, float result_scale) {
  Graph graph;
  graph.opsets = {{"", 17}, {"com.microsoft", 1}};
  const Tensor row = row_of(numbers);
  const ValueId input = graph.add_value("x", tensor_type(row.type(), Shape(row.dims())));
  graph.add_input(input);
  const auto number = [](float value) {
    return Tensor::of<float>(DataType::Float32, {}, std::vector{value});
  };
  const Tensor zero = Tensor::of<std::uint8_t>(DataType::UInt8, {}, Bytes{0});
  Node node;
  node.name = "softmax";
  node.op = "QLinearSoftmax";
  node.domain = "com.microsoft";
  node.attributes = {{"axis", std::int64_t{-1}}, {"opset", std::int64_t{17}}};
  node.inputs = {input, add_constant(graph, "from_scale", number(scale)),
                 add_constant(graph, "from_zero", zero),
                 add_constant(graph, "to_scale", number(result_scale)),
                 add_constant(graph, "to_zero", zero)};
  node.outputs = {graph.add_value("y")};
  graph.add_output(node.outputs[0]);
  graph.add_node(std::move(node));
  const auto program = compile(infer_shapes(graph), {});
  program->set_inputs(std::vector{row});
  program->run();
  const std::vector<std::int64_t> results = program->results()[0].to_int64();
  return {results.begin(), results.end()};
}

TEST(QuantizedSoftmax, IsRoundedAsInOnnxRuntime) {
  EXPECT_EQ(softmax_of({137, 186, 33, 90, 112, 212, 160, 71, 35, 143, 56, 173, 24, 12, 20, 203},
                       0.02f, 0.0039f),
            (Bytes{14, 37, 2, 5, 8, 61, 22, 4, 2, 15, 3, 28, 1, 1, 1, 51}));
  EXPECT_EQ(softmax_of({190, 248, 43, 204, 72, 68, 15, 190, 200, 66, 192, 189, 163, 221, 182, 53},
                       0.05f, 0.0039f),
            (Bytes{8, 148, 0, 16, 0, 0, 0, 8, 13, 0, 9, 8, 2, 38, 5, 0}));
  EXPECT_EQ(softmax_of({120, 192, 158, 32, 32, 22, 100, 226, 56, 99, 67, 5, 245, 85, 44, 217}, 0.1f,
                       0.0039f),
            (Bytes{0, 1, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 211, 0, 0, 13}));
}

}  // namespace
}  // namespace assay
