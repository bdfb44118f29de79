// A model in another floating type: what is cast, what is not, and how numbers are rounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/bind.h"
#include "assay/error.h"
#include "assay/precision.h"
#include "assay/verify.h"
#include "assay/zoo.h"
#include "transform/cast_precision.h"

namespace assay {
namespace {

using transform::converted;

std::int64_t stored_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const auto& [value, tensor] : graph.initializers()) {
    bytes += static_cast<std::int64_t>(tensor.byte_size());
  }
  return bytes;
}

std::size_t count_of(const Graph& graph, std::string_view op) {
  return static_cast<std::size_t>(
      std::ranges::count_if(graph.nodes(), [&](const Node& node) { return node.op == op; }));
}

Graph bound(const std::string& spec) {
  return bind_inputs(zoo_model(spec), {}).graph;
}

TEST(Converted, RoundsToTheNearestAndHalvesToEven) {
  // bfloat16 has 8 bits: between 256 and 512 only even numbers, so that 257 lies halfway.
  const Tensor given = Tensor::of_float({4}, {257, 259, 1.0f, -0.0f});
  EXPECT_EQ(converted(given, DataType::BFloat16).to_double(),
            (std::vector<double>{256, 260, 1, -0.0}));
  // float16 has 11: between 2048 and 4096 only even numbers.
  const Tensor larger = Tensor::of_float({2}, {2049, 2051});
  EXPECT_EQ(converted(larger, DataType::Float16).to_double(), (std::vector<double>{2048, 2052}));
}

TEST(Converted, StopsAtTheLargestNumberOfFloat16ButKeepsInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor given = Tensor::of_float({4}, {1e9f, -70000.0f, infinity, 65504.0f});
  const auto halves = converted(given, DataType::Float16).to_double();
  EXPECT_EQ(halves, (std::vector<double>{65504, -65504, infinity, 65504}));
}

TEST(Converted, IsUndoneExactlyByWidening) {
  const Tensor given = Tensor::of_float({3}, {0.1f, -3.25f, 1e-6f});
  for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
    const Tensor half = converted(given, type);
    EXPECT_EQ(converted(converted(half, DataType::Float32), type), half);
  }
}

TEST(CastPrecision, HalvesTheBytesOfWeightsAndKeepsTheTypesOfInputsAndOutputs) {
  for (const DataType type : {DataType::BFloat16, DataType::Float16}) {
    const Graph given = bound("mlp");
    const Graph cast = cast_precision(given, type).graph;
    EXPECT_EQ(2 * stored_bytes(cast), stored_bytes(given));
    for (const ValueId id : cast.inputs())
      EXPECT_EQ(cast.value(id).type.element, DataType::Float32);
    for (const ValueId id : cast.outputs())
      EXPECT_EQ(cast.value(id).type.element, DataType::Float32);
    EXPECT_EQ(count_of(cast, "Cast"), 2u);  // one behind the input, one before the output
    verify(cast);
  }
}

TEST(CastPrecision, FoldsBatchNormsFirst) {
  const Graph cast = cast_precision(bound("resnet18"), DataType::BFloat16).graph;
  EXPECT_EQ(count_of(cast, "BatchNormalization"), 0u);
  EXPECT_EQ(count_of(cast, "Conv"), 20u);
  verify(cast);
}

TEST(CastPrecision, LeavesRecurrentLayersAndReductionsInFloat32) {
  const Graph cast = cast_precision(bound("lstm"), DataType::BFloat16).graph;
  for (const Node& node : cast.nodes()) {
    if (node.op != "LSTM") continue;
    for (const ValueId output : node.outputs) {
      if (!output.is_valid()) continue;
      EXPECT_EQ(cast.value(output).type.element, DataType::Float32);
    }
  }
  EXPECT_GE(count_of(cast, "LSTM"), 1u);
  verify(cast);
}

TEST(CastPrecision, ToFloat32UndoesTheCast) {
  const Graph cast = cast_precision(bound("mlp"), DataType::BFloat16).graph;
  const Graph back = cast_precision(cast, DataType::Float32).graph;
  for (const auto& [value, tensor] : back.initializers())
    EXPECT_EQ(tensor.type(), DataType::Float32);
  verify(back);
}

TEST(CastPrecision, WarnsOfWeightsBeyondTheRangeOfFloat16) {
  Graph graph;
  graph.opsets[""] = 17;
  const ValueId x = graph.add_value("x", tensor_type(DataType::Float32, Shape({2})));
  const ValueId w = graph.add_value("w", tensor_type(DataType::Float32, Shape({2})));
  const ValueId y = graph.add_value("y", tensor_type(DataType::Float32, Shape({2})));
  graph.add_input(x);
  graph.add_initializer(w, Tensor::of_float({2}, {1e6f, 1}));
  graph.add_node({.name = "scale", .op = "Mul", .domain = "", .inputs = {x, w}, .outputs = {y}});
  graph.add_output(y);
  EXPECT_TRUE(cast_precision(graph, DataType::BFloat16).warnings.empty());
  const auto warnings = cast_precision(graph, DataType::Float16).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("'w': 1 of 2 numbers"), std::string::npos) << warnings[0];
}

TEST(CastPrecision, RefusesWhatIsNoFloatingType) {
  EXPECT_THROW(cast_precision(bound("mlp"), DataType::Int8), Error);
  EXPECT_THROW(float_precision("fp8"), Error);
}

}  // namespace
}  // namespace assay
