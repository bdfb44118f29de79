// A 3×3 convolution of stride 1 by Winograd's algorithm, planned for a batch and a team of threads.
// oneDNN has one only for its blocked layout; this one takes half the time, and also stays in the
// channels-last layout that oneDNN's fastest other convolutions use.
#pragma once

#include <optional>

#include "execute/cpu/kernels/own_convolution.h"
#include "execute/cpu/kernels/tile_blocks.h"
#include "execute/cpu/simd/simd.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

class Winograd : public OwnConvolution {
 public:
  // `tile`: 2 or 4 results along each side. The grid is two-dimensional, 3×3, of stride 1.
  // `block`: channels that lie side by side, a divisor of all; 0: channels last.
  Winograd(std::size_t tile, const kernels::WindowGrid& grid, std::int64_t images,
           std::int64_t channels, std::int64_t outputs, const Epilogue& epilogue, int threads,
           const SimdKernels& kernels = simd(), std::size_t block = 0);

  std::size_t weight_floats() const override;
  std::size_t workspace_floats() const override;
  std::int64_t flops() const override;  // transforms included
  bool adds() const override { return epilogue_.adds; }
  void pack_weights(const float* weights, float* packed) const override;
  void run(const ConvolutionOperands& operands) const override;

  // Images, results and addend have 16 bits; all in between is float32.
  void take_halves(HalfFormat format) {
    shape_.in_halves = true;
    shape_.format = format;
  }
  // Transformed weights are stored as 16-bit integers with a scale for each output. In float16 the
  // transform back would make their rounding ten times as large.
  void store_weights_as_integers() { has_integers_ = true; }
  bool fills_panels() const { return shape_.outputs % kernels_.panel_width == 0; }
  // Transforms filters of `n` outputs from `output` on and one channel, whose taps lie
  // `tap_stride` apart, to where pack_weights would put them. `n` divides the width of a panel, or
  // is a multiple of it.
  void pack_filters(const float* taps, std::size_t tap_stride, std::size_t output,
                    std::size_t channel, std::size_t n, float* packed) const;

 private:
  std::size_t weight_count() const { return shape_.planes() * shape_.channels * row_stride(); }
  void pack_floats(const float* weights, float* packed) const;
  float scale_of(std::size_t output, const float* floats) const;
  void multiply(const float* inputs, std::size_t rows, const float* weights, std::size_t part,
                float* products) const;
  std::size_t packed_at(std::size_t output, std::size_t channel) const;
  std::size_t tiles() const { return images_ * shape_.tiles_down * shape_.tiles_across; }
  std::size_t panels() const { return kernels_.panels_for(shape_.outputs); }
  std::size_t row_stride() const;   // of products
  std::size_t input_plane() const;  // floats of a block's transformed inputs, one plane
  std::size_t product_plane() const;
  std::size_t workspace_of_block() const;
  void run_block(const ConvolutionOperands& operands, const TileBlock& block) const;

  const SimdKernels& kernels_;
  WinogradShape shape_;
  bool has_integers_ = false;
  std::size_t images_ = 0;
  Epilogue epilogue_;
  int threads_ = 1;
  TileBlocks blocks_;
};

}  // namespace assay::cpu
