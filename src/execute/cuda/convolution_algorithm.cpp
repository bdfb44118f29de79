#include "execute/cuda/convolution_algorithm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace assay::cuda {

namespace {

using AlgorithmKind = ConvolutionAlgorithm::Kind;

// Parts of kernels' names in cuDNN 7 to 9, the more telling first: non-fused Winograd multiplies by
// kernels of cuBLAS, and so does the FFT (of complex numbers).
struct NamePart {
  std::string_view part;
  AlgorithmKind kind = AlgorithmKind::Unknown;
  std::string_view name;
};
constexpr std::array<NamePart, 14> kParts = {{
    {"winograd", AlgorithmKind::Winograd, "winograd"},
    {"fft", AlgorithmKind::Fft, "fft"},
    {"cgemm", AlgorithmKind::Fft, "fft"},
    {"implicit", AlgorithmKind::Direct, "implicit gemm"},
    {"explicit", AlgorithmKind::Direct, "explicit gemm"},
    {"xmma", AlgorithmKind::Direct, "implicit gemm"},
    {"cutlass", AlgorithmKind::Direct, "implicit gemm"},
    {"scudnn", AlgorithmKind::Direct, "implicit gemm"},
    {"884cudnn", AlgorithmKind::Direct, "implicit gemm"},
    {"16816cudnn", AlgorithmKind::Direct, "implicit gemm"},
    {"gemm", AlgorithmKind::Direct, "gemm"},
    {"depthwise", AlgorithmKind::Direct, "direct"},
    {"dwconv", AlgorithmKind::Direct, "direct"},
    {"conv2d", AlgorithmKind::Direct, "direct"},
}};

bool any_has(std::span<const std::string> kernels, std::string_view part) {
  return std::ranges::any_of(
      kernels, [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

// "winogradForwardData4x4", "winogradForwardOutput9x9_5x5": tiles of 4 · 4 and of 9 · 9 results.
// Kernels that do it all at once, as "…scudnn_winograd_128x128_ldg1_ldg4_…_tile148n_nt", compute
// tiles of 2 · 2 (Yan, Wang and Chu, "Optimizing Batched Winograd Convolution on GPUs", 2020).
std::int64_t tile_in(const std::string& name) {
  constexpr std::array<std::string_view, 3> kSteps = {"Data", "Filter", "Output"};
  const auto start = name.find("winograd");
  if (start == std::string::npos) return 0;
  if (name.find("cudnn_winograd", start < 6 ? 0 : start - 6) != std::string::npos) return 2;
  for (const std::string_view step : kSteps) {
    const auto at = name.find(step, start);
    if (at == std::string::npos || at + step.size() >= name.size()) continue;
    const char digit = name[at + step.size()];
    const bool is_square = name.substr(at + step.size(), 3) == fmt::format("{0}x{0}", digit);
    if (std::isdigit(static_cast<unsigned char>(digit)) != 0 && is_square) return digit - '0';
  }
  return 0;
}

std::int64_t tile_in(std::span<const std::string> kernels) {
  for (const std::string& name : kernels)
    if (const std::int64_t tile = tile_in(name); tile != 0) return tile;
  return 0;
}

std::int64_t longest_kernel(const kernels::WindowGrid& grid) {
  std::int64_t longest = 1;
  for (const kernels::WindowAxis& axis : grid.axes) longest = std::max(longest, axis.kernel);
  return longest;
}

// Additions and multiplications of the transforms of an image's tile, of a result's, and of a
// filter: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015.
struct Transforms {
  std::int64_t image = 0;
  std::int64_t result = 0;
  std::int64_t filter = 0;
};
Transforms transforms_of(std::int64_t tile) {
  if (tile == 2) return {.image = 32, .result = 24, .filter = 28};
  if (tile == 4) return {.image = 144, .result = 100, .filter = 72};
  return {};
}

std::int64_t winograd_flops(std::int64_t tile, const ConvolutionSizes& sizes) {
  std::int64_t tiles = sizes.batch;
  std::int64_t products = 1;  // of a tile
  for (const kernels::WindowAxis& axis : sizes.grid.axes) {
    const std::int64_t results = sizes.is_transposed ? axis.input : axis.output;
    const std::int64_t edge = axis.kernel > 1 ? tile : 1;
    tiles *= (results + edge - 1) / edge;
    products *= edge + axis.kernel - 1;
  }
  const std::int64_t pairs = sizes.channels_of_group * sizes.filters;
  const Transforms once = transforms_of(tile);
  return 2 * tiles * products * pairs +
         tiles * (once.image * sizes.channels_of_group + once.result * sizes.filters) +
         once.filter * pairs;
}

}  // namespace

ConvolutionAlgorithm winograd_algorithm(std::int64_t tile) {
  return {.kind = AlgorithmKind::Winograd,
          .name = tile > 0 ? fmt::format("winograd {0}x{0}", tile) : "winograd",
          .tile = std::max<std::int64_t>(tile, 0)};
}

ConvolutionAlgorithm algorithm_of(const gpu::CudnnGraph::Engine& engine,
                                  std::span<const std::string> kernels,
                                  const kernels::WindowGrid& grid) {
  if (engine.winograd_tile > 0)
    return winograd_algorithm(engine.winograd_tile - longest_kernel(grid) + 1);
  if (engine.is_winograd) return winograd_algorithm(tile_in(kernels));
  if (engine.is_fft) return {.kind = AlgorithmKind::Fft, .name = "fft"};
  for (const NamePart& one : kParts) {
    if (!any_has(kernels, one.part)) continue;
    if (one.kind == AlgorithmKind::Winograd) return winograd_algorithm(tile_in(kernels));
    return {.kind = one.kind, .name = std::string(one.name)};
  }
  return {};
}

std::int64_t direct_flops(const ConvolutionSizes& sizes) {
  return 2 * sizes.batch * sizes.grid.output_elements() * sizes.channels_of_group * sizes.filters *
         sizes.grid.taps();
}

std::optional<std::int64_t> executed_flops(const ConvolutionAlgorithm& algorithm,
                                           const ConvolutionSizes& sizes) {
  if (algorithm.kind == AlgorithmKind::Direct) return direct_flops(sizes);
  if (algorithm.kind == AlgorithmKind::Winograd && algorithm.tile > 0)
    return winograd_flops(algorithm.tile, sizes);
  return {};
}

}  // namespace assay::cuda
