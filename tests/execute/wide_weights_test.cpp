// Products and convolutions whose weights, less their zero point, need 9 bits: what quantisers
// write for uint8 weights. They run fast, and results are those of the plain kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "execute/compare_engines.h"
#include "execute/one_fused_node.h"

namespace assay {
namespace {

Tensor one_float(float number) {
  return Tensor::of<float>(DataType::Float32, {}, std::vector{number});
}

Tensor one_byte(int number) {
  return Tensor::of<std::uint8_t>(DataType::UInt8, {},
                                  std::vector{static_cast<std::uint8_t>(number)});
}

// Integers of 32 bits are exact. Those of 8 bits were rounded from floats here and from doubles in
// the plain kernels: where a sum lies between two steps, either may come out.
void expect_same_numbers(const Tensor& fast, const Tensor& reference) {
  const auto a = fast.to_double(), b = reference.to_double();
  ASSERT_EQ(a.size(), b.size());
  const double allowed = fast.type() == DataType::Int32 ? 0 : 1;
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::abs(a[i] - b[i]), allowed) << "at " << i;
    differing += a[i] != b[i] ? 1 : 0;
  }
  EXPECT_LE(differing, 1 + a.size() / 100);
}

void expect_equal_without_fallback(OneFusedNode& node) {
  const Inferred model = infer_shapes(node.graph());
  for (const int threads : {1, 2}) {
    const auto fast = compile(model, {.cpu = {.threads = threads}});
    const auto reference = compile(model, {.engine = "reference"});
    for (const auto& program : {fast.get(), reference.get()}) {
      program->set_inputs(node.inputs);
      program->run();
    }
    for (const StepInfo& step : fast->steps()) EXPECT_EQ(avoidable_fallback(step), "") << step.op;
    expect_same_numbers(fast->results()[0], reference->results()[0]);
  }
}

// Zero points of the weights that leave no, some and all numbers in 8 bits.
constexpr int kZeroPoints[] = {0, 128, 100, 255};

TEST(WideWeights, ProductOfIntegers) {
  for (const int zero : kZeroPoints) {
    OneFusedNode node("MatMulInteger");
    node.standard().bytes<std::uint8_t>(DataType::UInt8, {2, 5, 33}, false, 0, 255);
    node.bytes<std::uint8_t>(DataType::UInt8, {33, 24}, true, 0, 255);
    node.bytes<std::uint8_t>(DataType::UInt8, {}, false, 77, 77);
    node.constant(one_byte(zero));
    expect_equal_without_fallback(node);
  }
}

TEST(WideWeights, ProductOfSignedIntegersWithAZeroPointForEachColumn) {
  OneFusedNode node("MatMulInteger");
  node.standard().bytes<std::int8_t>(DataType::Int8, {4, 20}, false, -128, 127);
  node.bytes<std::int8_t>(DataType::Int8, {20, 7}, true, -128, 127);
  node.bytes<std::int8_t>(DataType::Int8, {}, false, -3, -3);
  node.bytes<std::int8_t>(DataType::Int8, {7}, true, -128, 127);
  expect_equal_without_fallback(node);
}

TEST(WideWeights, ProductToFloats) {
  for (const int zero : kZeroPoints) {
    OneFusedNode node("MatMulIntegerToFloat");
    node.bytes<std::uint8_t>(DataType::UInt8, {3, 32}, false, 0, 255);
    node.bytes<std::uint8_t>(DataType::UInt8, {32, 16}, true, 0, 255);
    node.input(one_float(0.02f)).constant(one_float(0.01f));
    node.bytes<std::uint8_t>(DataType::UInt8, {}, false, 120, 120).constant(one_byte(zero));
    node.weights({16});
    expect_same_on_any_threads(node.graph(), node.inputs);
  }
}

TEST(WideWeights, QuantizedProduct) {
  for (const int zero : kZeroPoints) {
    OneFusedNode node("QLinearMatMul");
    node.standard().bytes<std::uint8_t>(DataType::UInt8, {6, 40}, false, 0, 255);
    node.constant(one_float(0.02f)).constant(one_byte(130));
    node.bytes<std::uint8_t>(DataType::UInt8, {40, 18}, true, 0, 255);
    node.constant(one_float(0.01f)).constant(one_byte(zero));
    node.constant(one_float(0.3f)).constant(one_byte(128));
    expect_equal_without_fallback(node);
  }
}

TEST(WideWeights, QuantizedGemmWithABias) {
  for (const bool has_scale : {true, false}) {
    OneFusedNode node("QGemm");
    node.bytes<std::uint8_t>(DataType::UInt8, {6, 40}, false, 0, 255);
    node.constant(one_float(0.02f)).constant(one_byte(130));
    node.bytes<std::uint8_t>(DataType::UInt8, {18, 40}, true, 0, 255);
    node.constant(one_float(0.01f)).constant(one_byte(99));
    node.bytes<std::int32_t>(DataType::Int32, {18}, true, -5000, 5000);
    if (has_scale) node.constant(one_float(0.3f)).constant(one_byte(128));
    node.set("transB", std::int64_t{1});
    expect_same_on_any_threads(node.graph(), node.inputs);
  }
}

struct WideConvolution {
  Dims input, weights;
  std::vector<std::int64_t> pads;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
};

TEST(WideWeights, QuantizedConvolution) {
  const std::vector<WideConvolution> cases = {
      {{1, 3, 9, 9}, {8, 3, 3, 3}, {1, 1, 1, 1}},
      {{2, 4, 7, 8}, {16, 4, 3, 3}, {0, 1, 2, 1}, 2},
      {{1, 8, 6, 6}, {8, 1, 3, 3}, {1, 1, 1, 1}, 1, 8},
      {{1, 8, 6, 6}, {12, 4, 3, 3}, {1, 1, 1, 1}, 1, 2},
      {{1, 16, 5, 5}, {32, 16, 1, 1}, {0, 0, 0, 0}},
      {{1, 4, 20}, {8, 4, 5}, {2, 2}},
  };
  for (const WideConvolution& one : cases) {
    for (const int zero : kZeroPoints) {
      OneFusedNode node("QLinearConv");
      node.standard().bytes<std::uint8_t>(DataType::UInt8, one.input, false, 0, 255);
      node.constant(one_float(0.02f)).constant(one_byte(110));
      node.bytes<std::uint8_t>(DataType::UInt8, one.weights, true, 0, 255);
      node.constant(one_float(0.01f)).constant(one_byte(zero));
      node.constant(one_float(0.4f)).constant(one_byte(128));
      node.bytes<std::int32_t>(DataType::Int32, {one.weights[0]}, true, -5000, 5000);
      node.set("pads", one.pads).set("group", one.groups);
      node.set("strides", std::vector<std::int64_t>(one.input.size() - 2, one.stride));
      expect_equal_without_fallback(node);
    }
  }
}

}  // namespace
}  // namespace assay
