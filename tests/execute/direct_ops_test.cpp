// Ops that pick, place and order elements on the fast engine: against the plain kernels.
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

constexpr DataType kTypes[] = {DataType::Float32, DataType::Float64, DataType::Int8,
                               DataType::UInt8,   DataType::Int32,   DataType::Int64};

// One node whose operands are inputs of the graph.
struct OneNode {
  std::string op;
  std::vector<Tensor> inputs;
  std::vector<Attribute> attributes = {};
  std::size_t outputs = 1;
  std::vector<std::size_t> constants = {};  // operands that are stored in the model

  Graph graph() const {
    GraphBuilder builder("net", 0, 17);
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = "in" + std::to_string(i);
      const bool is_constant = std::ranges::find(constants, i) != constants.end();
      ids.push_back(is_constant ? builder.constant(name, inputs[i])
                                : builder.input(name, inputs[i].type(), inputs[i].shape()));
    }
    const auto results = builder.node_with_outputs(op, "node", ids, outputs, attributes);
    for (std::size_t i = 0; i < results.size(); ++i)
      builder.output(results[i], "out" + std::to_string(i));
    return builder.finish();
  }

  std::vector<Tensor> given() const {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (std::ranges::find(constants, i) == constants.end()) tensors.push_back(inputs[i]);
    }
    return tensors;
  }

  void expect_same(const std::string& what) const {
    expect_same_results(graph(), given(), op + " " + what);
  }

  // Both engines refuse it with the same words.
  void expect_same_error() const {
    const std::string expected = error_of(graph(), given(), "reference");
    EXPECT_NE(expected, "") << op;
    EXPECT_EQ(error_of(graph(), given(), "cpu"), expected) << op;
  }
};

Dims random_dims(Content& content, std::size_t rank) {
  Dims dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(content.number(1, 6));
  return dims;
}

TEST(DirectOps, GatherAndScatterElementsOfAnyTypeAndAxis) {
  Content content(1);
  for (const DataType type : kTypes) {
    for (int round = 0; round < 6; ++round) {
      const auto rank = static_cast<std::size_t>(content.number(1, 4));
      const Dims dims = random_dims(content, rank);
      const auto axis = content.number(0, static_cast<std::int64_t>(rank) - 1);
      Dims picked = dims;
      picked[static_cast<std::size_t>(axis)] = content.number(1, 8);
      const std::int64_t length = dims[static_cast<std::size_t>(axis)];
      const auto index_type = round % 2 == 0 ? DataType::Int64 : DataType::Int32;
      const Tensor indices = content.tensor(index_type, picked, -length, length - 1);
      const std::vector<Attribute> attributes = {
          {"axis", round % 3 == 0 ? axis - static_cast<std::int64_t>(rank) : axis}};
      const Tensor data = content.tensor(type, dims, 0, 100);
      OneNode{"GatherElements", {data, indices}, attributes}.expect_same("");
      OneNode{"ScatterElements", {data, indices, content.tensor(type, picked, 0, 100)}, attributes}
          .expect_same("");
      for (const char* reduction : {"add", "mul"}) {
        auto reduced = attributes;
        reduced.push_back({"reduction", std::string(reduction)});
        OneNode{"ScatterElements", {data, indices, content.tensor(type, picked, 0, 3)}, reduced}
            .expect_same(reduction);
      }
    }
  }
}

TEST(DirectOps, GatherAndScatterTuples) {
  Content content(2);
  for (int round = 0; round < 12; ++round) {
    const Dims dims = {3, 4, 5};
    const auto width = content.number(1, 3);
    Dims index_dims = {content.number(1, 4), 2, width};
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < index_dims[0] * 2; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int64_t length = dims[static_cast<std::size_t>(j)];
        numbers.push_back(content.number(-length, length - 1));
      }
    }
    const Tensor indices = Tensor::of_int64(index_dims, numbers);
    const Tensor data = content.tensor(kTypes[round % 6], dims, 0, 100);
    OneNode{"GatherND", {data, indices}}.expect_same("");
    Dims update_dims = {index_dims[0], 2};
    update_dims.insert(update_dims.end(), dims.begin() + width, dims.end());
    const Tensor updates = content.tensor(data.type(), update_dims, 0, 50);
    OneNode{"ScatterND", {data, indices, updates}}.expect_same("");
    OneNode{"ScatterND", {data, indices, updates}, {{"reduction", std::string("add")}}}.expect_same(
        "add");
  }
  OneNode{"GatherND",
          {content.tensor(DataType::Float32, {2, 3, 4}, 0, 9), Tensor::of_int64({2, 1}, {-1, 0})},
          {{"batch_dims", std::int64_t{1}}}}
      .expect_same("batch");
}

TEST(DirectOps, IndicesOutOfRangeAreRefusedAsByThePlainKernel) {
  Content content(3);
  const Tensor data = content.tensor(DataType::Float32, {3, 4}, 0, 9);
  for (const std::int64_t bad : {3, -4, 1 << 30}) {
    const Tensor indices = Tensor::of_int64({1, 2}, {0, bad});
    const Tensor updates = content.tensor(DataType::Float32, {1, 2}, 0, 9);
    OneNode{"GatherElements", {data, indices}}.expect_same_error();
    OneNode{"ScatterElements", {data, indices, updates}}.expect_same_error();
    const Tensor tuples = Tensor::of_int64({2, 1}, {0, bad});
    OneNode{"GatherND", {data, tuples}}.expect_same_error();
    OneNode{"ScatterND", {data, tuples, content.tensor(DataType::Float32, {2, 4}, 0, 9)}}
        .expect_same_error();
  }
  const Tensor lengths = Tensor::of_int64({4}, {0, 1, 4, 2});
  OneNode{"ReverseSequence", {data, lengths}}.expect_same_error();
}

TEST(DirectOps, MarkOneHotOnAnyAxis) {
  Content content(4);
  for (const DataType type : kTypes) {
    for (const std::int64_t axis : {-1, 0, 1, 2, -3}) {
      const std::vector<std::int64_t> off_and_on = {0, 1};
      const Tensor values = content.tensor(type, {2}, 0, 9);
      // 9 and -9 are no position: all of that lane is off.
      const Tensor indices = content.tensor(DataType::Int64, {3, 4}, -9, 9);
      OneNode{"OneHot", {indices, Tensor::of_int64({}, {7}), values}, {{"axis", axis}}, 1, {1}}
          .expect_same(std::to_string(axis));
    }
  }
}

TEST(DirectOps, FindTheBestWithTiesAndNotANumber) {
  Content content(5);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const DataType type : kTypes) {
    for (const std::int64_t axis : {0, 1, -1}) {
      for (const std::int64_t flag : {0, 1}) {
        const Tensor data = content.tensor(type, {5, 7, 3}, 0, 4);  // many ties
        for (const char* op : {"ArgMax", "ArgMin"}) {
          OneNode{op, {data}, {{"axis", axis}, {"keepdims", flag}, {"select_last_index", flag}}}
              .expect_same("");
        }
        const std::int64_t k = axis == 0 ? 4 : 3;
        OneNode{
            "TopK", {data, Tensor::of_int64({1}, {k})}, {{"axis", axis}, {"largest", flag}}, 2, {1}}
            .expect_same("");
      }
    }
  }
  const Tensor odd = Tensor::of_float({2, 4}, {1, nan, 3, nan, -1, 2, nan, 2});
  for (const std::int64_t largest : {0, 1}) {
    OneNode{"TopK", {odd, Tensor::of_int64({1}, {3})}, {{"largest", largest}}, 2, {1}}.expect_same(
        "NaN");
  }
  OneNode{"ArgMax", {odd}, {{"axis", std::int64_t{1}}}}.expect_same("NaN");
  OneNode{"ArgMin", {odd}, {{"axis", std::int64_t{1}}}}.expect_same("NaN");
}

TEST(DirectOps, AccumulateAlongAnAxis) {
  Content content(6);
  for (const DataType type : kTypes) {
    for (const std::int64_t axis : {0, 1, -1}) {
      for (const std::int64_t flag : {0, 1}) {
        OneNode{"CumSum",
                {content.tensor(type, {3, 4, 5}, 0, 20), Tensor::of_int64({}, {axis})},
                {{"exclusive", flag}, {"reverse", 1 - flag}},
                1,
                {1}}
            .expect_same("");
      }
    }
  }
}

TEST(DirectOps, ReverseSequencesOfOwnLengths) {
  Content content(7);
  for (const std::int64_t time : {0, 1}) {
    const Dims dims = {4, 5, 2, 3};
    const std::int64_t steps = dims[static_cast<std::size_t>(time)];
    const std::int64_t batch = dims[static_cast<std::size_t>(1 - time)];
    OneNode{"ReverseSequence",
            {content.tensor(DataType::Float32, dims, 0, 99),
             content.tensor(DataType::Int64, {batch}, 0, steps)},
            {{"time_axis", time}, {"batch_axis", 1 - time}}}
        .expect_same("");
  }
}

TEST(DirectOps, CutTriangles) {
  Content content(8);
  for (const std::int64_t k : {-9, -1, 0, 2, 9}) {
    for (const std::int64_t upper : {0, 1}) {
      OneNode{"Trilu",
              {content.tensor(DataType::Int64, {2, 3, 5}, 1, 9), Tensor::of_int64({}, {k})},
              {{"upper", upper}}}
          .expect_same("");
    }
  }
}

TEST(DirectOps, RepeatAndPad) {
  Content content(9);
  OneNode{"Tile",
          {content.tensor(DataType::Float32, {2, 3}, 0, 9), Tensor::of_int64({2}, {3, 2})},
          {},
          1,
          {1}}
      .expect_same("");
  for (const char* mode : {"reflect", "edge", "constant"}) {
    for (const DataType type : kTypes) {
      OneNode{"Pad",
              {content.tensor(type, {3, 4, 5}, 0, 9), Tensor::of_int64({6}, {1, 0, 2, -1, 1, 3})},
              {{"mode", std::string(mode)}},
              1,
              {1}}
          .expect_same(mode);
    }
  }
}

TEST(DirectOps, EmptyTensorsRunToo) {
  Content content(10);
  const Tensor data = content.tensor(DataType::Float32, {3, 4}, 0, 9);
  const Tensor none = Tensor::of_int64({0, 4}, {});
  const OneNode gather{"GatherElements", {data, none}};
  EXPECT_EQ(error_of(gather.graph(), gather.given(), "cpu"), "");
  const OneNode top{"TopK", {data, Tensor::of_int64({1}, {0})}, {}, 2, {1}};
  EXPECT_EQ(error_of(top.graph(), top.given(), "cpu"), "");
}

}  // namespace
}  // namespace assay
