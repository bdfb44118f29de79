// Element-wise ops on integers, truths and doubles, and masks that are known only at run time, on
// the fast engine: against the plain kernels.
#include <gtest/gtest.h>

#include <limits>

#include "assay/builder.h"
#include "same_results.h"

namespace assay {
namespace {

using test::Content;
using test::error_of;
using test::expect_same_results;
using Dims = std::vector<std::int64_t>;

constexpr DataType kNumbers[] = {DataType::Float32, DataType::Float64, DataType::Int8,
                                 DataType::UInt8,   DataType::Int32,   DataType::Int64};

Graph one_node(const std::string& op, const std::vector<Tensor>& inputs,
               const std::vector<Attribute>& attributes = {}) {
  GraphBuilder builder("net", 0, 17);
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) {
    ids.push_back(input.has_value() ? builder.input("in" + std::to_string(ids.size()), input.type(),
                                                    input.shape())
                                    : ValueId{});
  }
  builder.output(builder.node(op, "node", ids, attributes), "out");
  return builder.finish();
}

std::vector<Tensor> without_missing(std::vector<Tensor> inputs) {
  std::erase_if(inputs, [](const Tensor& input) { return !input.has_value(); });
  return inputs;
}

void expect_same(const std::string& op, const std::vector<Tensor>& inputs,
                 const std::vector<Attribute>& attributes = {}, double tolerance = 0) {
  expect_same_results(one_node(op, inputs, attributes), without_missing(inputs), op, tolerance);
}

// Shapes that broadcast to each other, in both orders.
const std::pair<Dims, Dims> kShapes[] = {{{3, 4}, {3, 4}},       {{2, 3, 5}, {5}},
                                         {{4, 1, 3}, {1, 6, 1}}, {{}, {2, 3}},
                                         {{3, 1}, {1, 3000}},    {{1}, {}}};

TEST(TypedOps, CompareNumbersOfAnyType) {
  Content content(1);
  for (const DataType type : kNumbers) {
    for (const auto& [a, b] : kShapes) {
      for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
        const Tensor first = content.tensor(type, a, 0, 3);
        const Tensor second = content.tensor(type, b, 0, 3);
        expect_same(op, {first, second});
        expect_same(op, {second, first});
      }
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor odd = Tensor::of_float({4}, {nan, 1, nan, 2});
  for (const char* op : {"Equal", "Less", "GreaterOrEqual"})
    expect_same(op, {odd, Tensor::of_float({4}, {nan, 1, 0, nan})});
}

TEST(TypedOps, ComputeWithIntegers) {
  Content content(2);
  for (const DataType type : {DataType::Int8, DataType::Int32, DataType::Int64, DataType::UInt8}) {
    const std::int64_t least = type == DataType::UInt8 ? 0 : -9;
    for (const auto& [a, b] : kShapes) {
      for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"})
        expect_same(op, {content.tensor(type, a, least, 100), content.tensor(type, b, least, 100)});
      for (const char* op : {"Div", "Mod"})
        expect_same(op, {content.tensor(type, a, least, 100), content.tensor(type, b, 1, 9)});
      expect_same("Mod", {content.tensor(type, a, least, 50), content.tensor(type, b, 1, 7)},
                  {{"fmod", std::int64_t{1}}});
    }
    for (const char* op : {"Neg", "Abs", "Sign"}) {
      if (type != DataType::UInt8) expect_same(op, {content.tensor(type, {3, 5}, least, 9)});
    }
  }
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const Tensor edge = Tensor::of_int64({3}, {lowest, lowest, 7});
  for (const char* op : {"Div", "Mod", "Mul", "Sub"})
    expect_same(op, {edge, Tensor::of_int64({3}, {-1, 1, -1})});
}

TEST(TypedOps, DivisionByZeroIsRefusedAsByThePlainKernel) {
  for (const char* op : {"Div", "Mod"}) {
    const std::vector<Tensor> inputs = {Tensor::of_int64({2}, {1, 2}),
                                        Tensor::of_int64({2}, {1, 0})};
    const Graph graph = one_node(op, inputs);
    EXPECT_NE(error_of(graph, inputs, "reference"), "");
    EXPECT_EQ(error_of(graph, inputs, "cpu"), error_of(graph, inputs, "reference"));
  }
}

TEST(TypedOps, CombineTruths) {
  Content content(3);
  for (const auto& [a, b] : kShapes) {
    for (const char* op : {"And", "Or", "Xor"})
      expect_same(
          op, {content.tensor(DataType::Bool, a, 0, 1), content.tensor(DataType::Bool, b, 0, 1)});
  }
  expect_same("Not", {content.tensor(DataType::Bool, {3, 70}, 0, 1)});
}

TEST(TypedOps, ChooseByAMaskOfTheRun) {
  Content content(4);
  for (const DataType type :
       {DataType::Float32, DataType::Float64, DataType::Int64, DataType::Int8, DataType::Bool}) {
    for (const auto& [a, b] : kShapes) {
      const Tensor mask = content.tensor(DataType::Bool, a, 0, 1);
      expect_same("Where", {mask, content.tensor(type, b, 0, 1), content.tensor(type, {}, 0, 1)});
      expect_same("Where", {mask, content.tensor(type, a, 0, 1), content.tensor(type, b, 0, 1)});
    }
  }
}

TEST(TypedOps, ClipByBoundsOfTheRun) {
  Content content(5);
  for (const DataType type : kNumbers) {
    const Tensor data = content.tensor(type, {4, 9}, 0, 50);
    const Tensor low = content.tensor(type, {}, 10, 12);
    const Tensor high = content.tensor(type, {}, 20, 30);
    expect_same("Clip", {data, low, high});
    expect_same("Clip", {data, high, low});  // the upper bound wins
    expect_same("Clip", {data, low});
    expect_same("Clip", {data, Tensor(), high});
  }
}

TEST(TypedOps, ConvertBetweenAllTypes) {
  Content content(6);
  constexpr DataType kAll[] = {DataType::Float32, DataType::Float64, DataType::Int8,
                               DataType::UInt8,   DataType::Int32,   DataType::Int64,
                               DataType::Bool};
  for (const DataType from : kAll) {
    for (const DataType to : kAll) {
      if (from == to) continue;
      expect_same("Cast", {content.tensor(from, {5, 7}, 0, from == DataType::Bool ? 1 : 100)},
                  {{"to", static_cast<std::int64_t>(to)}});
    }
  }
}

TEST(TypedOps, FunctionsOfRealNumbers) {
  const Tensor data = Tensor::of_float({2, 4}, {0.1f, -0.7f, 0.5f, 0.9f, -0.2f, 0, 1, -1});
  for (const char* op : {"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh",
                         "Atanh", "Round", "Sign", "Mish", "Celu", "Selu", "ThresholdedRelu"})
    expect_same(op, {data}, {}, 1e-6);
  expect_same("Pow", {Tensor::of_float({3}, {1, 2, 3}), Tensor::of_float({3}, {0.3f, -2, 1.5f})},
              {}, 1e-6);
}

// One-hot as TensorFlow and JAX write it: positions compared with all classes, then converted.
TEST(TypedOps, ComparisonsThatAreCastAreOneStep) {
  Content content(7);
  GraphBuilder builder("net", 0, 17);
  const ValueId x = builder.input("x", DataType::Int32, Shape{6, 1});
  std::vector<std::int32_t> classes(9);
  for (std::int32_t i = 0; i < 9; ++i) classes[static_cast<std::size_t>(i)] = i;
  const ValueId all =
      builder.constant("classes", Tensor::of<std::int32_t>(DataType::Int32, {1, 9}, classes));
  const ValueId equal = builder.node("Equal", "equal", {x, all});
  builder.output(builder.node("Cast", "hot", {equal}, {{"to", std::int64_t{1}}}), "y");
  const Graph graph = builder.finish();
  expect_same_results(graph, {content.tensor(DataType::Int32, {6, 1}, -2, 10)}, "one-hot");
  EXPECT_EQ(compile(infer_shapes(graph))->steps().size(), 1u);
}

TEST(TypedOps, EmptyTensorsRunToo) {
  for (const char* op : {"Equal", "Less", "Add"}) {
    const std::vector<Tensor> inputs = {Tensor::of_int64({0, 3}, {}),
                                        Tensor::of_int64({3}, {1, 2, 3})};
    EXPECT_EQ(error_of(one_node(op, inputs), inputs, "cpu"), "") << op;
  }
}

}  // namespace
}  // namespace assay
