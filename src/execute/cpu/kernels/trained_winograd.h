// A 3×3 convolution by Winograd's algorithm whose weights change from run to run, in the forward or
// backward pass. Images and weights are in oneDNN's blocks: [images, blocks, height, width, block],
// [output blocks, input blocks, 3, 3, input, output]; or, without blocks, channels last:
// [images, height, width, channels], [3, 3, input, output]. Transforming the weights is part of a
// run.
#pragma once

#include "execute/cpu/kernels/winograd.h"

namespace assay::cpu {

class TrainedWinograd : public OwnConvolution {
 public:
  enum class Direction { Forward, Backward };

  // A block holds whole vectors of the kernels; 0: there are none. The grid is that of the forward
  // convolution. In the backward pass the source is the gradient of its results, the result that of
  // its images.
  TrainedWinograd(Direction direction, std::size_t tile, const kernels::WindowGrid& grid,
                  std::int64_t images, std::int64_t inputs, std::int64_t outputs, std::size_t block,
                  const Epilogue& epilogue, int threads, const SimdKernels& kernels = simd());

  std::size_t weight_floats() const override { return 9 * inputs_ * outputs_; }
  std::size_t workspace_floats() const override;
  std::int64_t flops() const override;
  bool adds() const override { return winograd_.adds(); }
  void pack_weights(const float* weights, float* packed) const override;
  void run(const ConvolutionOperands& operands) const override;

 private:
  // Of `count` outputs, or inputs, from the first on, all of a block.
  void transform_forward(const float* weights, std::size_t first, std::size_t count,
                         float* transformed) const;
  void transform_backward(const float* weights, std::size_t first, std::size_t count,
                          float* transformed) const;
  void transform(const float* weights, float* transformed) const;
  // Where the first tap of a filter lies, and how far it is to the next.
  std::size_t filter_at(std::size_t output, std::size_t input) const;
  std::size_t tap_stride() const { return input_block_ * output_block_; }

  Direction direction_;
  std::size_t tile_;
  std::size_t inputs_;
  std::size_t outputs_;
  std::size_t input_block_;
  std::size_t output_block_;
  int threads_;
  const SimdKernels& kernels_;
  Winograd winograd_;
};

}  // namespace assay::cpu
