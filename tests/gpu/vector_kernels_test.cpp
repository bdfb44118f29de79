// Kernels that read and write several channels at once, where they lie next to each other. Images
// come so from a Transpose, which moves nothing.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "assay/program.h"
#include "execute/compare_engines.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

// One op on an image (batch, channels, spatial…) whose channels lie last.
Graph on_channels_last(const char* op, const Ints& dims, std::vector<Attribute> attributes,
                       std::vector<Tensor> more = {}) {
  GraphBuilder build("channels_last", 0, 18);
  const auto rank = static_cast<std::int64_t>(dims.size());
  Ints stored = {dims[0]};
  Ints order = {0, rank - 1};
  for (std::int64_t axis = 2; axis < rank; ++axis) {
    stored.push_back(dims[static_cast<std::size_t>(axis)]);
    order.push_back(axis - 1);
  }
  stored.push_back(dims[1]);
  const ValueId x = build.input("x", DataType::Float32, Shape(stored));
  std::vector<ValueId> inputs = {build.node("Transpose", "moved", {x}, {{"perm", order}})};
  for (Tensor& tensor : more) inputs.push_back(build.constant("more", std::move(tensor)));
  build.output(build.node(op, "op", inputs, std::move(attributes)), "y");
  return build.finish();
}

void expect_same(const Graph& graph, const std::string& algorithm, const std::string& what,
                 std::optional<DataType> precision = {}) {
  fake_device();
  const ProgramOptions options{.engine = "cuda", .precision = precision};
  const auto program = compile(infer_shapes(graph), options);
  bool is_there = false;
  std::string algorithms;
  for (const StepInfo& step : program->steps()) {
    is_there |= step.algorithm == algorithm;
    algorithms += step.op + ": " + step.algorithm + "; ";
  }
  EXPECT_TRUE(is_there) << what << ": " << algorithms;
  const Difference difference = compare_engines(graph, options);
  EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << what;
  EXPECT_LE(difference.largest, precision ? 0.01 : 1e-5) << what << " " << difference.where;
}

TEST(CudaVectorKernels, OfPools) {
  const Attribute square{"kernel_shape", Ints{3, 3}};
  const std::vector<std::vector<Attribute>> forms = {
      {square, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
      {square, {"strides", Ints{1, 2}}, {"pads", Ints{0, 1, 2, 0}}, {"ceil_mode", std::int64_t{1}}},
      {{"kernel_shape", Ints{2, 3}}, {"dilations", Ints{2, 1}}}};
  for (const auto& form : forms) {
    for (const char* op : {"MaxPool", "AveragePool"}) {
      if (op == std::string("AveragePool") && form.back().name == "dilations") continue;
      for (const std::int64_t channels : {8, 6})
        expect_same(on_channels_last(op, {2, channels, 9, 7}, form), "own strips",
                    fmt::format("{} of {} channels", op, channels));
      expect_same(on_channels_last(op, {2, 16, 9, 7}, form), "own strips", op, DataType::Float16);
    }
  }
  auto counting = forms[0];
  counting.emplace_back("count_include_pad", std::int64_t{1});
  expect_same(on_channels_last("AveragePool", {1, 4, 8, 8}, counting), "own strips", "padding");
  expect_same(on_channels_last("MaxPool", {2, 8, 9}, {{"kernel_shape", Ints{3}}}), "own strips",
              "one axis");
  expect_same(on_channels_last("MaxPool", {1, 8, 4, 5, 6}, {{"kernel_shape", Ints{2, 3, 2}}}),
              "own strips", "three axes");
  expect_same(on_channels_last("MaxPool", {2, 5, 9, 7}, forms[0]), "own", "odd channels");
}

// Large enough for several windows a thread.
TEST(CudaVectorKernels, OfLargePools) {
  const Attribute square{"kernel_shape", Ints{3, 3}};
  const Graph dense =
      on_channels_last("MaxPool", {1, 8, 515, 512}, {square, {"pads", Ints{1, 1, 1, 1}}});
  expect_same(dense, "own strips", "stride 1");
  const Graph strided =
      on_channels_last("AveragePool", {1, 8, 1021, 512},
                       {square, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  expect_same(strided, "own strips", "stride 2");
}

TEST(CudaVectorKernels, OfDepthwiseConvolutions) {
  for (const std::int64_t channels : {8, 6}) {
    GraphBuilder build("depthwise");
    const ValueId x = build.input("x", DataType::Float32, Shape{2, channels, 9, 7});
    const ValueId weight = build.weight("weight", {channels, 1, 3, 5}, 0.3);
    const ValueId conv =
        build.node("Conv", "conv", {x, weight, build.weight("bias", {channels}, 0.3)},
                   {{"group", channels}, {"pads", Ints{1, 2, 1, 0}}, {"strides", Ints{2, 1}}});
    build.output(build.node("Relu", "relu", {conv}), "y");
    const Graph graph = build.finish();
    fake_device();
    for (const auto precision : {std::optional<DataType>(), std::optional(DataType::Float16)}) {
      // Without measurements the first candidate after the plain kernel is taken.
      ProgramOptions options{.engine = "cuda", .precision = precision};
      options.optimize_for = OptimizeFor::Memory;
      const auto program = compile(infer_shapes(graph), options);
      std::string algorithms;
      for (const StepInfo& step : program->steps()) algorithms += step.algorithm + ";";
      EXPECT_NE(algorithms.find("own strips"), std::string::npos) << algorithms;
      EXPECT_LE(compare_engines(graph, options).largest, precision ? 0.01 : 1e-5);
    }
  }
}

TEST(CudaVectorKernels, OfReductions) {
  for (const Ints& dims : {Ints{2, 8, 7, 7}, Ints{1, 200, 3, 5}, Ints{3, 16, 30, 31}}) {
    const std::string what = fmt::format("{} channels", dims[1]);
    for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) {
      expect_same(on_channels_last(op, dims, {}), "own columns", what);
      expect_same(on_channels_last(op, dims, {}), "own columns", what, DataType::Float16);
    }
  }
  const auto axes = [](const Ints& numbers) {
    return std::vector<Tensor>{
        Tensor::of_int64({static_cast<std::int64_t>(numbers.size())}, numbers)};
  };
  const Attribute drops{"keepdims", std::int64_t{0}};
  expect_same(on_channels_last("ReduceMean", {2, 12, 5, 6}, {drops}, axes({2, 3})), "own columns",
              "axes dropped");
  expect_same(on_channels_last("ReduceMax", {2, 12, 5, 6}, {}, axes({3})), "own columns",
              "one axis");
  expect_same(on_channels_last("ReduceSum", {3, 12, 5, 6}, {}, axes({0, 2, 3})), "own columns",
              "all but the channels");
  expect_same(on_channels_last("ReduceL2", {3, 12, 5, 6}, {}, axes({0, 2})), "own columns",
              "not neighbouring");
  expect_same(on_channels_last("GlobalAveragePool", {2, 7, 5, 6}, {}), "own rows", "odd channels");
}

Graph first_layer(std::int64_t channels, std::int64_t width, bool scales) {
  GraphBuilder build("first_layer");
  ValueId x = build.input("x", DataType::Float32, Shape{2, channels, 6, width});
  if (scales) x = build.node("Mul", "scaled", {x, build.weight("scale", {channels, 1, 1}, 1)});
  build.output(build.node("Conv", "conv",
                          {x, build.weight("weight", {16, channels, 3, 3}, 0.3),
                           build.weight("bias", {16}, 0.3)},
                          {{"pads", Ints{1, 1, 1, 1}}}),
               "y");
  return build.finish();
}

// Conversion, change of layout and padding are one pass over the image.
TEST(CudaVectorKernels, PrepareImagesForConvolutionsInOnePass) {
  for (const char* has_libraries : {"0", "1"}) {
    const FakeSetting libraries("FAKE_CUDA_LIBRARIES", has_libraries);
    fake_device();
    for (const char* precision : {"fp32", "tf32", "fp16", "bf16"}) {
      for (const auto& [channels, width] : {std::pair{3, 8}, std::pair{3, 7}, std::pair{2, 8}}) {
        for (const bool scales : {false, true}) {
          ProgramOptions options{.engine = "cuda"};
          set_precision(options, precision);
          const Graph graph = first_layer(channels, width, scales);
          const auto program = compile(infer_shapes(graph), options);
          std::string steps;
          std::size_t before = 0;
          for (const StepInfo& step : program->steps()) {
            steps += step.op + ": " + step.algorithm + "; ";
            if (step.op == "Conv") break;
            ++before;
          }
          EXPECT_EQ(before, 1u) << precision << " " << steps;
          EXPECT_EQ(steps.find("+ copy"), std::string::npos) << steps;
          const double tolerance = precision == std::string("fp32")   ? 1e-5
                                   : precision == std::string("bf16") ? 0.06
                                                                      : 0.01;
          const Difference difference = compare_engines(graph, options);
          EXPECT_LE(difference.largest, tolerance) << precision << " " << channels << " " << steps;
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay
