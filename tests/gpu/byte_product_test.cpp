// Convolutions and products of 8-bit numbers: every kernel that competes gives the same numbers.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "assay/builder.h"
#include "execute/compare_engines.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

using testing::HasSubstr;

struct ByteForm {
  std::int64_t batch = 1, inputs = 16, outputs = 24, size = 9, kernel = 3, stride = 1, groups = 1;
  DataType image = DataType::UInt8;
  DataType weight = DataType::Int8;
  bool has_bias = true;
  bool is_integer = false;  // ConvInteger, whose zero point is an input
};

template <typename T>
Tensor bytes(DataType type, const std::vector<std::int64_t>& dims, std::uint64_t seed) {
  std::int64_t count = 1;
  for (const std::int64_t length : dims) count *= length;
  std::vector<T> numbers;
  std::uint64_t state = seed * 6364136223846793005u + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    numbers.push_back(static_cast<T>(state >> 56));
  }
  return Tensor::of<T>(type, dims, numbers);
}

Tensor bytes_of(DataType type, const std::vector<std::int64_t>& dims, std::uint64_t seed) {
  return type == DataType::Int8 ? bytes<std::int8_t>(type, dims, seed)
                                : bytes<std::uint8_t>(type, dims, seed);
}

Tensor one_byte(DataType type, int number) {
  if (type == DataType::Int8)
    return Tensor::of<std::int8_t>(type, {}, std::vector{static_cast<std::int8_t>(number)});
  return Tensor::of<std::uint8_t>(type, {}, std::vector{static_cast<std::uint8_t>(number)});
}

Graph convolution(const ByteForm& form) {
  GraphBuilder builder("bytes");
  const std::int64_t of_a_group = form.inputs / form.groups;
  const ValueId image =
      builder.input("x", form.image, Shape{form.batch, form.inputs, form.size, form.size});
  const ValueId weight = builder.constant(
      "w", bytes_of(form.weight, {form.outputs, of_a_group, form.kernel, form.kernel}, 3));
  const std::vector<Attribute> attributes = {
      {"group", form.groups},
      {"strides", std::vector<std::int64_t>{form.stride, form.stride}},
      {"pads", std::vector<std::int64_t>(4, form.kernel / 2)}};
  if (form.is_integer) {
    const ValueId zero = builder.input("zero", form.image, Shape{});
    builder.output(builder.node("ConvInteger", "product", {image, weight, zero}, attributes), "y");
    return builder.finish();
  }
  std::vector<float> scales;
  std::vector<std::int32_t> biases;
  for (std::int64_t i = 0; i < form.outputs; ++i) {
    scales.push_back(0.001f + 0.0001f * static_cast<float>(i % 7));
    biases.push_back(static_cast<std::int32_t>(i * 37 - 200));
  }
  std::vector<ValueId> inputs = {
      image,
      builder.scalar("x.scale", 0.02f),
      builder.constant("x.zero", one_byte(form.image, 7)),
      weight,
      builder.constant("w.scale", Tensor::of_float({form.outputs}, scales)),
      builder.constant("w.zero", bytes_of(form.weight, {}, 0)),
      builder.scalar("y.scale", 0.03f),
      builder.constant("y.zero", one_byte(DataType::UInt8, 100))};
  inputs[5] = builder.constant("w.zeros", one_byte(form.weight, 0));
  if (form.has_bias)
    inputs.push_back(builder.constant(
        "bias", Tensor::of<std::int32_t>(DataType::Int32, {form.outputs}, biases)));
  builder.output(builder.node("QLinearConv", "product", inputs, attributes), "y");
  return builder.finish();
}

// What was tried while the graph was compiled.
std::string tried(const Graph& graph) {
  const FakeSetting log("ASSAY_CUDA_LOG", "1");
  testing::internal::CaptureStderr();
  const auto program = compile(infer_shapes(graph), {.engine = kCudaEngine});
  std::string text = testing::internal::GetCapturedStderr();
  for (const StepInfo& step : program->steps()) EXPECT_EQ(step.fell_back, "") << step.name;
  return text;
}

void expect_same(const Graph& graph, const std::string& kernel, const std::string& what) {
  fake_device();
  const std::string log = tried(graph);
  EXPECT_THAT(log, HasSubstr(kernel)) << what;
  EXPECT_THAT(log, testing::Not(HasSubstr("differs"))) << what;
  // The most promising one, then the fastest.
  for (const OptimizeFor goal : {OptimizeFor::Memory, OptimizeFor::Latency}) {
    const Difference difference =
        compare_engines(graph, {.engine = kCudaEngine, .optimize_for = goal});
    EXPECT_TRUE(difference.same_shapes) << what;
    EXPECT_EQ(difference.largest, 0) << what << " " << difference.where;
  }
}

void expect_convolution(const ByteForm& form, const std::string& kernel) {
  expect_same(convolution(form), kernel,
              fmt::format("{} to {} channels of {} pixels, kernel {}, stride {}", form.inputs,
                          form.outputs, form.size, form.kernel, form.stride));
}

TEST(CudaBytes, ConvolutionsRunOnTensorCores) {
  expect_convolution({}, "own bytes 64x64");
  expect_convolution({.inputs = 32, .outputs = 20, .kernel = 1, .stride = 2}, "own bytes 32x32");
  expect_convolution({.batch = 2, .inputs = 24, .outputs = 7, .has_bias = false}, "own bytes");
  expect_convolution({.inputs = 20, .outputs = 33, .stride = 2}, "own bytes");
  // Three channels are read number by number.
  expect_convolution({.inputs = 3, .outputs = 16, .kernel = 5, .stride = 2}, "own bytes");
  expect_convolution({.image = DataType::Int8, .weight = DataType::UInt8}, "own bytes");
  expect_convolution({.image = DataType::Int8}, "own bytes");
  expect_convolution({.weight = DataType::UInt8}, "own bytes");
}

TEST(CudaBytes, BlocksShareLongSums) {
  expect_convolution({.inputs = 128, .outputs = 40, .size = 5}, "parts");
}

TEST(CudaBytes, TilesOfAllSizesAgree) {
  expect_convolution({.outputs = 140, .size = 12, .kernel = 1}, "own bytes 128x128");
}

TEST(CudaBytes, AZeroPointMayBeAnInput) {
  expect_convolution({.is_integer = true}, "own bytes");
  expect_convolution({.inputs = 16, .outputs = 16, .groups = 16, .is_integer = true},
                     "own depthwise");
}

TEST(CudaBytes, AThreadComputesSeveralChannels) {
  for (const std::int64_t channels : {4, 24, 48})
    for (const std::int64_t stride : {1, 2})
      expect_convolution(
          {.inputs = channels, .outputs = channels, .stride = stride, .groups = channels},
          "own depthwise, 4 channels");
  expect_convolution({.inputs = 32, .outputs = 32, .kernel = 5, .groups = 32},
                     "own depthwise, 16 channels");
}

Graph integer_product(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                      bool zero_is_known) {
  GraphBuilder builder("product");
  const ValueId a = builder.input("a", DataType::UInt8, Shape{2, rows, depth});
  const ValueId b = builder.constant("b", bytes_of(DataType::Int8, {depth, columns}, 5));
  const ValueId zero = zero_is_known ? builder.constant("zero", one_byte(DataType::UInt8, 113))
                                     : builder.input("zero", DataType::UInt8, Shape{});
  builder.output(builder.node("MatMulInteger", "product", {a, b, zero}), "y");
  return builder.finish();
}

TEST(CudaBytes, ProductsRunOnTensorCores) {
  for (const bool zero_is_known : {true, false}) {
    expect_same(integer_product(5, 64, 24, zero_is_known), "own bytes", "5 rows");
    expect_same(integer_product(70, 36, 65, zero_is_known), "own bytes", "70 rows");
    expect_same(integer_product(3, 1030, 10, zero_is_known), "own bytes", "1030 numbers");
  }
}

}  // namespace
}  // namespace assay
