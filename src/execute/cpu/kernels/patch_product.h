// A convolution as the product of the patches its windows see and its weights. Where an image is
// small, oneDNN's convolutions work on rows of a few pixels; here all pixels form one matrix, and
// the weights, which are most of what is read, pass by once.
#pragma once

#include "execute/cpu/kernels/own_convolution.h"
#include "execute/cpu/simd/simd.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

class PatchProduct : public OwnConvolution {
 public:
  PatchProduct(const kernels::WindowGrid& grid, std::int64_t images, std::int64_t channels,
               std::int64_t outputs, const Epilogue& epilogue, int threads,
               const SimdKernels& kernels = simd());

  std::size_t weight_floats() const override { return depth_ * row_stride(); }
  std::size_t workspace_floats() const override;
  std::int64_t flops() const override;
  bool adds() const override { return epilogue_.adds; }
  void pack_weights(const float* weights, float* packed) const override;
  void run(const ConvolutionOperands& operands) const override;

 private:
  std::size_t panels() const { return kernels_.panels_for(outputs_); }
  std::size_t row_stride() const { return panels() * kernels_.panel_width; }
  bool sees_single_pixels() const;  // patches are the pixels themselves
  void copy_patch(const float* source, std::size_t row, float* patches) const;
  void multiply(const float* patches, const float* weights, std::size_t first_panel,
                std::size_t last_panel, float* products) const;

  const SimdKernels& kernels_;
  kernels::WindowGrid grid_;
  std::size_t images_ = 0;
  std::size_t channels_ = 0;
  std::size_t outputs_ = 0;
  std::size_t rows_ = 0;   // pixels of all results
  std::size_t depth_ = 0;  // numbers of a patch: tap by tap, all channels of each
  Epilogue epilogue_;
  int threads_ = 1;
};

}  // namespace assay::cpu
