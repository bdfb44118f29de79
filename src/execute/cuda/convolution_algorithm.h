// How a library's engine computes a convolution, told from its notes and from the names of the
// kernels that it launches, and how much arithmetic that is: Winograd's algorithm multiplies less
// than the definition.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "gpu/cudnn_convolution.h"
#include "kernels/window_grid.h"

namespace assay::cuda {

struct ConvolutionAlgorithm {
  enum class Kind { Unknown, Direct, Winograd, Fft };
  Kind kind = Kind::Unknown;
  std::string name = "";  // "implicit gemm", "winograd 2x2"; empty if it is not known
  std::int64_t tile = 0;  // of Winograd's: results along an axis; 0 if that is not known
};

// What is computed: images of `inputs` channels, of which each result channel reads those of its
// group.
struct ConvolutionSizes {
  kernels::WindowGrid grid = {};
  bool is_transposed = false;
  std::int64_t batch = 0;
  std::int64_t channels_of_group = 0;
  std::int64_t filters = 0;
};

// With so many results along an axis of its tiles; 0 if that is not known.
ConvolutionAlgorithm winograd_algorithm(std::int64_t tile);
ConvolutionAlgorithm algorithm_of(const gpu::CudnnGraph::Engine& engine,
                                  std::span<const std::string> kernels,
                                  const kernels::WindowGrid& grid);

// What the definition multiplies and adds, and how much more or less the algorithm does; nothing if
// that is not known.
std::int64_t direct_flops(const ConvolutionSizes& sizes);
std::optional<std::int64_t> executed_flops(const ConvolutionAlgorithm& algorithm,
                                           const ConvolutionSizes& sizes);

}  // namespace assay::cuda
