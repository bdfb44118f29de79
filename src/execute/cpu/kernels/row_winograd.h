// A 3×3 convolution of stride 1 by Winograd's algorithm along the rows alone: two results of a row
// from four products, tap row by tap row. It multiplies more than the one along both sides, but its
// weights take a quarter less, and on a small image they come from memory in every run.
#pragma once

#include <vector>

#include "execute/cpu/kernels/own_convolution.h"
#include "execute/cpu/simd/simd.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

class RowWinograd : public OwnConvolution {
 public:
  // The grid is two-dimensional, 3×3, of stride 1.
  RowWinograd(const kernels::WindowGrid& grid, std::int64_t images, std::int64_t channels,
              std::int64_t outputs, const Epilogue& epilogue, int threads,
              const SimdKernels& kernels = simd());

  std::size_t weight_floats() const override;
  std::size_t workspace_floats() const override;
  std::int64_t flops() const override;  // transforms included
  bool adds() const override { return epilogue_.adds; }
  void pack_weights(const float* weights, float* packed) const override;
  void run(const ConvolutionOperands& operands) const override;

 private:
  std::size_t panels() const { return kernels_.panels_for(outputs_); }
  std::size_t row_stride() const { return panels() * kernels_.panel_width; }  // of products
  std::size_t input_plane() const;                                            // floats
  std::size_t product_plane() const;
  void transform_row(const float* source, std::size_t padded_row, float* inputs) const;
  void multiply(const float* inputs, const float* weights, std::size_t part, float* products) const;
  void finish_pair(const ConvolutionOperands& operands, std::size_t pair, float* products) const;

  const SimdKernels& kernels_;
  kernels::WindowAxis down_;
  kernels::WindowAxis across_;
  std::size_t images_ = 0;
  std::size_t channels_ = 0;
  std::size_t outputs_ = 0;
  std::size_t rows_ = 0;         // of results
  std::size_t padded_rows_ = 0;  // of an image, as far as windows reach
  std::size_t pairs_ = 0;        // of neighbouring results in a row
  Epilogue epilogue_;
  int threads_ = 1;
  std::vector<float> zeros_;  // a pixel beyond the edge
};

}  // namespace assay::cpu
