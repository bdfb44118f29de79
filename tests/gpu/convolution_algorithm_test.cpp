// What the names of a library's kernels and the notes of its engines say about an algorithm.
#include "execute/cuda/convolution_algorithm.h"

#include <gtest/gtest.h>

namespace assay::cuda {
namespace {

using Kind = ConvolutionAlgorithm::Kind;

// 64 channels, 32 filters of k · k, without padding, on 2 images.
ConvolutionSizes sizes_with(std::int64_t k, std::int64_t results) {
  ConvolutionSizes sizes{.batch = 2, .channels_of_group = 64, .filters = 32};
  for (std::size_t axis = 1; axis < 3; ++axis)
    sizes.grid.axes[axis] = {.input = results + k - 1, .output = results, .kernel = k};
  sizes.grid.rank = 2;
  return sizes;
}

ConvolutionAlgorithm algorithm_with(const std::vector<std::string>& kernels) {
  return algorithm_of({}, kernels, sizes_with(3, 8).grid);
}

TEST(ConvolutionAlgorithm, IsToldByTheNamesOfKernels) {
  EXPECT_EQ(
      algorithm_with({"cudnn_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"}).name,
      "winograd 2x2");
  EXPECT_EQ(algorithm_with({"_ZN5cudnn16winograd_nonfused23winogradForwardData4x4IffEEv",
                            "_ZN5cudnn16winograd_nonfused25winogradForwardFilter4x4IffEEv",
                            "volta_sgemm_128x64_nn"})
                .name,
            "winograd 4x4");
  EXPECT_EQ(algorithm_with({"winogradForwardData9x9_5x5"}).tile, 9);
  EXPECT_EQ(algorithm_with({"fft2d_r2c_32x32", "volta_gcgemm_32x32_nt"}).name, "fft");
  EXPECT_EQ(algorithm_with({"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckcrs_nhwc"}).name,
            "implicit gemm");
  EXPECT_EQ(algorithm_with({"ampere_scudnn_128x64_relu_medium_nn_v1"}).kind, Kind::Direct);
  EXPECT_EQ(algorithm_with({"engine_of_tomorrow"}).kind, Kind::Unknown);
  EXPECT_EQ(algorithm_with({}).kind, Kind::Unknown);
}

TEST(ConvolutionAlgorithm, IsToldByNotesBeforeNames) {
  const auto grid = sizes_with(3, 8).grid;
  const std::vector<std::string> gemm = {"volta_sgemm_128x64_nn"};
  EXPECT_EQ(algorithm_of({.is_winograd = true, .winograd_tile = 6}, gemm, grid).name,
            "winograd 4x4");
  EXPECT_EQ(algorithm_of({.is_winograd = true, .winograd_tile = 4}, {}, grid).name, "winograd 2x2");
  EXPECT_EQ(
      algorithm_of({.is_winograd = true, .winograd_tile = 13}, {}, sizes_with(5, 9).grid).tile, 9);
  EXPECT_EQ(algorithm_of({.is_winograd = true}, {}, grid).name, "winograd");
  EXPECT_EQ(algorithm_of({.is_fft = true}, gemm, grid).kind, Kind::Fft);
}

TEST(ConvolutionAlgorithm, WinogradMultipliesEachTileOnce) {
  const ConvolutionSizes sizes = sizes_with(3, 8);
  EXPECT_EQ(direct_flops(sizes), 2 * 2 * 8 * 8 * 9 * 64 * 32);
  // 16 tiles of 2 · 2 results in each of 2 images, 16 products for each pair of channels.
  EXPECT_EQ(executed_flops(winograd_algorithm(2), sizes),
            2 * 32 * 16 * 64 * 32 + 32 * (32 * 64 + 24 * 32) + 28 * 64 * 32);
  // 4 tiles of 4 · 4 results, 36 products.
  EXPECT_EQ(executed_flops(winograd_algorithm(4), sizes),
            2 * 8 * 36 * 64 * 32 + 8 * (144 * 64 + 100 * 32) + 72 * 64 * 32);
  // 7 · 7 results take as many tiles.
  EXPECT_EQ(executed_flops(winograd_algorithm(4), sizes_with(3, 7)),
            executed_flops(winograd_algorithm(4), sizes));
}

TEST(ConvolutionAlgorithm, ArithmeticThatIsNotToldIsNotKnown) {
  const ConvolutionSizes sizes = sizes_with(3, 8);
  EXPECT_EQ(executed_flops(algorithm_with({"fft2d_r2c_32x32"}), sizes), std::nullopt);
  EXPECT_EQ(executed_flops(algorithm_with({}), sizes), std::nullopt);
  EXPECT_EQ(executed_flops(winograd_algorithm(0), sizes), std::nullopt);
  EXPECT_EQ(executed_flops(algorithm_with({"implicit_convolve_sgemm"}), sizes),
            direct_flops(sizes));
}

}  // namespace
}  // namespace assay::cuda
