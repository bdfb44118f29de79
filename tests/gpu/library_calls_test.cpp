#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "gpu/cublaslt_product.h"
#include "gpu/cudnn_convolution.h"
#include "gpu/fake_device.h"
#include "support/error_message.h"

namespace assay {
namespace {

class LibraryCalls : public testing::Test {
 private:
  FakeSetting libraries_{"FAKE_CUDA_LIBRARIES", "1"};
};
using CublasLt = LibraryCalls;
using Cudnn = LibraryCalls;

std::vector<float> numbers(std::size_t count, float step) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5) * step;
  return all;
}

gpu::Memory on_device(const gpu::Stream& stream, const std::vector<float>& numbers) {
  gpu::Memory memory(fake_device(), static_cast<std::int64_t>(numbers.size() * 4), "numbers");
  stream.copy_in(memory.address(), std::as_bytes(std::span(numbers)));
  return memory;
}

std::vector<float> from_device(const gpu::Stream& stream, const gpu::Memory& memory) {
  std::vector<float> all(static_cast<std::size_t>(memory.bytes()) / sizeof(float));
  stream.copy_out(std::as_writable_bytes(std::span(all)), memory.address());
  stream.wait("copying");
  return all;
}

// 2 × 3 by 3 × 4.
gpu::Product small_product() {
  gpu::Product product;
  product.a = {.rows = 2, .columns = 3, .leading = 3};
  product.b = {.rows = 3, .columns = 4, .leading = 4};
  product.result = {.rows = 2, .columns = 4, .leading = 4};
  return product;
}

TEST_F(CublasLt, MultipliesMatricesThatLieRowByRow) {
  const gpu::Stream stream(fake_device());
  const auto handle = std::make_shared<const gpu::CublasLtHandle>(fake_device());
  const gpu::CublasLtProduct product(handle, small_product());
  const std::vector<float> a = numbers(6, 1);
  const std::vector<float> b = numbers(12, 0.5f);
  const gpu::Memory at_a = on_device(stream, a);
  const gpu::Memory at_b = on_device(stream, b);
  const gpu::Memory result = on_device(stream, std::vector<float>(8, -1));
  const auto choices = product.choices();
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].name, "cublaslt 7");
  EXPECT_EQ(choices[0].key, "cublaslt 7.0.0.0.0.0.0.0.0");
  EXPECT_EQ(choices[1].workspace_bytes, 1000);
  const gpu::Memory workspace(fake_device(), 1000, "workspace");
  product.bind(choices[1], {.a = at_a.address(),
                            .b = at_b.address(),
                            .result = result.address(),
                            .workspace = workspace.address()})(stream);
  std::vector<float> expected(8);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 3; ++k) expected[i * 4 + j] += a[i * 3 + k] * b[k * 4 + j];
  EXPECT_EQ(from_device(stream, result), expected);
}

TEST_F(CublasLt, AddsABiasToEachColumnAndAMatrixAndAppliesRelu) {
  const gpu::Stream stream(fake_device());
  gpu::Product what = small_product();
  what.b = {.rows = 3, .columns = 4, .leading = 3, .by_columns = true};
  what.added = what.result;
  what.beta = 2;
  what.has_bias = true;
  what.activation = gpu::ProductActivation::Relu;
  const gpu::CublasLtProduct product(std::make_shared<const gpu::CublasLtHandle>(fake_device()),
                                     what);
  const std::vector<float> a = numbers(6, 1);
  const std::vector<float> b = numbers(12, 0.5f);
  const std::vector<float> added = numbers(8, 0.25f);
  const std::vector<float> bias = {1, -2, 3, -4};
  const gpu::Memory at_a = on_device(stream, a);
  const gpu::Memory at_b = on_device(stream, b);
  const gpu::Memory at_added = on_device(stream, added);
  const gpu::Memory at_bias = on_device(stream, bias);
  const gpu::Memory result = on_device(stream, std::vector<float>(8, -1));
  product.bind(product.choices()[0], {.a = at_a.address(),
                                      .b = at_b.address(),
                                      .added = at_added.address(),
                                      .bias = at_bias.address(),
                                      .result = result.address()})(stream);
  std::vector<float> expected(8);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      float sum = 2 * added[i * 4 + j] + bias[j];
      for (std::size_t k = 0; k < 3; ++k) sum += a[i * 3 + k] * b[j * 3 + k];
      expected[i * 4 + j] = std::max(sum, 0.0f);
    }
  }
  EXPECT_EQ(from_device(stream, result), expected);
}

TEST_F(CublasLt, MultipliesBytesIntoIntegers) {
  const gpu::Stream stream(fake_device());
  gpu::Product what;
  what.type = gpu::NumberType::Int8;
  what.a = {.rows = 1, .columns = 4, .leading = 4};
  what.b = {.rows = 4, .columns = 1, .leading = 4, .by_columns = true};
  what.result = {.rows = 1, .columns = 1, .leading = 1};
  const gpu::CublasLtProduct product(std::make_shared<const gpu::CublasLtHandle>(fake_device()),
                                     what);
  const std::array<std::int8_t, 4> a = {1, -2, 100, 4};
  const std::array<std::int8_t, 4> b = {5, 6, 100, -8};
  const gpu::Memory at_a(fake_device(), 4, "a");
  const gpu::Memory at_b(fake_device(), 4, "b");
  const gpu::Memory at_result(fake_device(), 4, "result");
  stream.copy_in(at_a.address(), std::as_bytes(std::span(a)));
  stream.copy_in(at_b.address(), std::as_bytes(std::span(b)));
  product.bind(product.choices()[0],
               {.a = at_a.address(), .b = at_b.address(), .result = at_result.address()})(stream);
  std::array<std::int32_t, 1> result = {};
  stream.copy_out(std::as_writable_bytes(std::span(result)), at_result.address());
  EXPECT_EQ(result[0], 1 * 5 - 2 * 6 + 100 * 100 - 4 * 8);
}

TEST_F(CublasLt, AFailedCallIsNamedWithItsStatus) {
  const gpu::Stream stream(fake_device());
  const gpu::CublasLtProduct product(std::make_shared<const gpu::CublasLtHandle>(fake_device()),
                                     small_product());
  const gpu::Memory memory(fake_device(), 1000, "numbers");
  const auto call =
      product.bind(product.choices()[2],
                   {.a = memory.address(), .b = memory.address(), .result = memory.address()});
  EXPECT_EQ(error_message([&] { call(stream); }),
            "cublasLtMatmul fails: CUBLAS_STATUS_NOT_SUPPORTED");
}

gpu::CudnnTensor channels_last(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return {.dims = {n, c, h, w}, .strides = {c * h * w, 1, w * c, c}};
}

// 3 × 3 taps over 4 × 4 pixels of 2 channels, to 3.
gpu::CudnnConvolution small_convolution() {
  return {.image = channels_last(1, 2, 4, 4),
          .weight = channels_last(3, 2, 3, 3),
          .result = channels_last(1, 3, 4, 4),
          .pads_begin = {1, 1},
          .pads_end = {1, 1},
          .strides = {1, 1},
          .dilations = {1, 1}};
}

std::vector<std::string> names_of(const gpu::CudnnGraph& graph) {
  std::vector<std::string> names;
  for (const auto& engine : graph.engines()) names.push_back(engine.name);
  return names;
}

TEST_F(Cudnn, EnginesOfTensorCoresAreLeftOutForRealFloat32) {
  const auto handle = std::make_shared<const gpu::CudnnHandle>(fake_device());
  gpu::CudnnConvolution what = small_convolution();
  EXPECT_EQ(names_of(gpu::CudnnGraph(handle, what)),
            (std::vector<std::string>{"cudnn engine 4", "cudnn engine 2", "cudnn engine 0",
                                      "cudnn engine 3"}));
  what.math = gpu::Float32Math::Tf32;
  EXPECT_EQ(gpu::CudnnGraph(handle, what).engines().size(), 5u);
  what.math = gpu::Float32Math::Real;
  what.type = gpu::NumberType::Float16;
  EXPECT_EQ(gpu::CudnnGraph(handle, what).engines().size(), 5u);
}

TEST_F(Cudnn, NotesSayWhichEngineIsWinograds) {
  const auto handle = std::make_shared<const gpu::CudnnHandle>(fake_device());
  const gpu::CudnnGraph graph(handle, small_convolution());
  for (const gpu::CudnnGraph::Engine& engine : graph.engines()) {
    const bool is_winograd = engine.name == "cudnn engine 2";
    EXPECT_EQ(engine.is_winograd, is_winograd) << engine.name;
    EXPECT_EQ(engine.winograd_tile, is_winograd ? 6 : 0) << engine.name;
    EXPECT_FALSE(engine.is_fft) << engine.name;
  }
}

TEST_F(Cudnn, ComputesAConvolutionWithWhatFollowsIt) {
  const gpu::Stream stream(fake_device());
  gpu::CudnnConvolution what = small_convolution();
  what.added = what.result;
  what.has_bias = true;
  what.activation = gpu::CudnnActivation::ClippedRelu;
  what.upper = 6;
  const gpu::CudnnGraph graph(std::make_shared<const gpu::CudnnHandle>(fake_device()), what);
  const gpu::CudnnPlan plan = graph.plan(1);
  EXPECT_EQ(plan.workspace_bytes(), 4096);
  const std::vector<float> image = numbers(32, 1);
  const std::vector<float> weight = numbers(54, 0.5f);
  const std::vector<float> added = numbers(48, 0.25f);
  const std::vector<float> bias = {1, 2, 3};
  const gpu::Memory at_image = on_device(stream, image);
  const gpu::Memory at_weight = on_device(stream, weight);
  const gpu::Memory at_added = on_device(stream, added);
  const gpu::Memory at_bias = on_device(stream, bias);
  const gpu::Memory at_result = on_device(stream, std::vector<float>(48, -1));
  const gpu::Memory workspace(fake_device(), 4096, "workspace");
  plan.bind({.image = at_image.address(),
             .weight = at_weight.address(),
             .added = at_added.address(),
             .bias = at_bias.address(),
             .result = at_result.address(),
             .workspace = workspace.address()})(stream);
  std::vector<float> expected;
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      for (int k = 0; k < 3; ++k) {
        float sum = added[expected.size()] + bias[static_cast<std::size_t>(k)];
        for (int r = 0; r < 3; ++r) {
          for (int s = 0; s < 3; ++s) {
            const int at_y = y + r - 1;
            const int at_x = x + s - 1;
            if (at_y < 0 || at_y > 3 || at_x < 0 || at_x > 3) continue;
            for (int c = 0; c < 2; ++c)
              sum += image[static_cast<std::size_t>((at_y * 4 + at_x) * 2 + c)] *
                     weight[static_cast<std::size_t>(((k * 3 + r) * 3 + s) * 2 + c)];
          }
        }
        expected.push_back(std::clamp(sum, 0.0f, 6.0f));
      }
    }
  }
  EXPECT_EQ(from_device(stream, at_result), expected);
}

TEST_F(Cudnn, AGraphThatIsNotSupportedSaysSo) {
  gpu::CudnnConvolution what = small_convolution();
  what.activation = gpu::CudnnActivation::Swish;
  const auto handle = std::make_shared<const gpu::CudnnHandle>(fake_device());
  EXPECT_EQ(error_message([&] { gpu::CudnnGraph(handle, what); }),
            "cudnnBackendFinalize OPERATIONGRAPH_DESCRIPTOR fails: "
            "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, no swish behind a convolution");
}

TEST(BrokenCudnn, SaysWhyItDoesNotStart) {
  EXPECT_EQ(error_message([] { gpu::CudnnHandle{fake_device()}; }),
            "cudnnCreate fails: CUDNN_STATUS_NOT_INITIALIZED, not asked for");
}

}  // namespace
}  // namespace assay
