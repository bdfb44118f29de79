// A transposed convolution with few results for each pixel: the product of the pixels and the
// weights, whose columns are then added where the windows lie (col2im). oneDNN computes a block of
// channels even where there is one.
#pragma once

#include "execute/cpu/kernels/own_convolution.h"
#include "execute/cpu/simd/simd.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

class ColumnProduct : public OwnConvolution {
 public:
  // `grid` is that of a transposed convolution: its windows are the pixels of the source. Nothing
  // is added: `epilogue` is a clamp.
  ColumnProduct(const kernels::WindowGrid& grid, std::int64_t images, std::int64_t channels,
                std::int64_t outputs, const Epilogue& epilogue, int threads,
                const SimdKernels& kernels = simd());

  std::size_t weight_floats() const override { return channels_ * row_stride(); }
  std::size_t workspace_floats() const override { return pixels_ * row_stride(); }
  std::int64_t flops() const override;
  bool adds() const override { return false; }
  // From [channels, outputs, kernel…].
  void pack_weights(const float* weights, float* packed) const override;
  void run(const ConvolutionOperands& operands) const override;

 private:
  std::size_t columns() const { return taps_ * outputs_; }
  std::size_t row_stride() const { return kernels_.panels_for(columns()) * kernels_.panel_width; }
  void multiply(const ConvolutionOperands& operands, std::size_t first, std::size_t last) const;
  void add_rows(const float* products, std::size_t row, float* to) const;
  void add_taps(const float* products, std::size_t first_tap, float* to) const;
  void finish(float* to) const;

  const SimdKernels& kernels_;
  kernels::WindowGrid grid_;
  std::size_t channels_ = 0;
  std::size_t outputs_ = 0;
  std::size_t taps_ = 0;
  std::size_t pixels_ = 0;  // of all images
  std::size_t rows_ = 0;    // of all results
  Epilogue epilogue_;
  int threads_ = 1;
};

}  // namespace assay::cpu
