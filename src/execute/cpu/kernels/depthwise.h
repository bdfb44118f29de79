// A channel-wise convolution of floats or 16-bit numbers, channels last. Sums are float32, and so
// are the weights, which are few.
#pragma once

#include <optional>

#include "execute/cpu/kernels/own_convolution.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

class Depthwise final : public OwnConvolution {
 public:
  // Of a plane or a line, with few enough rows of taps.
  static bool has_form_for(const kernels::WindowGrid& grid);

  Depthwise(const kernels::WindowGrid& grid, std::int64_t images, std::int64_t channels,
            std::optional<HalfFormat> format, const Epilogue& epilogue, int threads,
            const SimdKernels& kernels = simd());

  std::size_t weight_floats() const override;
  std::size_t workspace_floats() const override { return 0; }
  std::int64_t flops() const override;
  bool adds() const override { return epilogue_.adds; }
  // From [channels, 1, height, width].
  void pack_weights(const float* weights, float* packed) const override;
  void run(const ConvolutionOperands& operands) const override;

 private:
  std::size_t rows_together() const;
  std::size_t number_bytes() const { return format_ ? sizeof(std::uint16_t) : sizeof(float); }
  void result_rows(const ConvolutionOperands& operands, std::size_t image, std::size_t y,
                   std::size_t count) const;

  const SimdKernels& kernels_;
  kernels::WindowGrid grid_;
  std::size_t images_ = 0;
  std::size_t channels_ = 0;
  std::optional<HalfFormat> format_;  // of images and results; nothing: floats
  Epilogue epilogue_;
  int threads_ = 1;
};

}  // namespace assay::cpu
