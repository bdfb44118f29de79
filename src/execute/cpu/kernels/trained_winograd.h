// A 3×3 convolution by Winograd's algorithm whose weights change from run to run, in the forward or
// backward pass. Images and weights are in oneDNN's blocks: [images, blocks, height, width, block],
// [output blocks, input blocks, 3, 3, input, output]. Transforming the weights is part of a run.
#pragma once

#include "execute/cpu/kernels/winograd.h"

namespace assay::cpu {

class TrainedWinograd : public OwnConvolution {
 public:
  enum class Direction { Forward, Backward };

  // A block holds whole vectors of the kernels. The grid is that of the forward convolution. In
  // the backward pass the source is the gradient of its results, the result that of its images.
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
  void transform_forward(const float* weights, std::size_t output_block, float* transformed) const;
  void transform_backward(const float* weights, std::size_t input_block, float* transformed) const;
  std::size_t block_at(std::size_t output_block, std::size_t input_block) const;

  Direction direction_;
  std::size_t tile_;
  std::size_t inputs_;
  std::size_t outputs_;
  std::size_t block_;
  int threads_;
  Winograd winograd_;
};

}  // namespace assay::cpu
