#include "execute/cpu/kernels/trained_winograd.h"

#include <algorithm>
#include <utility>

#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

constexpr std::size_t kLargestBlock = 16;

// Additions and multiplications of the transform of one filter.
constexpr std::int64_t filter_transform_flops(std::size_t tile) {
  return tile == 2 ? 7 * 5 : 9 * 12;
}

// The gradient of the images is a convolution too, of the gradient of the results with the filters
// flipped, which reaches as far beyond the border as the other falls short of it.
WindowGrid grid_back(WindowGrid grid) {
  for (const std::size_t axis : {1u, 2u}) {
    WindowAxis& one = grid.axes[axis];
    std::swap(one.input, one.output);
    one.pad_begin = 2 - one.pad_begin;
    one.pad_end = 2 - one.pad_end;
  }
  return grid;
}

}  // namespace

TrainedWinograd::TrainedWinograd(Direction direction, std::size_t tile, const WindowGrid& grid,
                                 std::int64_t images, std::int64_t inputs, std::int64_t outputs,
                                 std::size_t block, const Epilogue& epilogue, int threads,
                                 const SimdKernels& kernels)
    : direction_(direction),
      tile_(tile),
      inputs_(static_cast<std::size_t>(inputs)),
      outputs_(static_cast<std::size_t>(outputs)),
      block_(block),
      threads_(threads),
      winograd_(
          direction == Direction::Forward
              ? Winograd(tile, grid, images, inputs, outputs, epilogue, threads, kernels, block)
              : Winograd(tile, grid_back(grid), images, outputs, inputs, epilogue, threads, kernels,
                         block)) {}

std::size_t TrainedWinograd::workspace_floats() const {
  return winograd_.workspace_floats() + winograd_.weight_floats();
}

std::int64_t TrainedWinograd::flops() const {
  return winograd_.flops() +
         static_cast<std::int64_t>(inputs_ * outputs_) * filter_transform_flops(tile_);
}

std::size_t TrainedWinograd::block_at(std::size_t output_block, std::size_t input_block) const {
  return (output_block * (inputs_ / block_) + input_block) * 9 * block_ * block_;
}

void TrainedWinograd::transform_forward(const float* weights, std::size_t output_block,
                                        float* transformed) const {
  for (std::size_t input = 0; input < inputs_; ++input) {
    const float* taps = weights + block_at(output_block, input / block_) + input % block_ * block_;
    winograd_.pack_filters(taps, block_ * block_, output_block * block_, input, block_,
                           transformed);
  }
}

// Filters are flipped, and their inputs come to lie side by side.
void TrainedWinograd::transform_backward(const float* weights, std::size_t input_block,
                                         float* transformed) const {
  float flipped[9 * kLargestBlock * kLargestBlock];
  const std::size_t square = block_ * block_;
  for (std::size_t output_block = 0; output_block < outputs_ / block_; ++output_block) {
    const float* given = weights + block_at(output_block, input_block);
    for (std::size_t tap = 0; tap < 9; ++tap) {
      simd().transpose(given + (8 - tap) * square, block_, flipped + tap * square, block_, block_,
                       block_);
    }
    for (std::size_t i = 0; i < block_; ++i) {
      winograd_.pack_filters(flipped + i * block_, square, input_block * block_,
                             output_block * block_ + i, block_, transformed);
    }
  }
}

void TrainedWinograd::pack_weights(const float* weights, float* packed) const {
  for (std::size_t output = 0; output < outputs_; ++output) {
    for (std::size_t input = 0; input < inputs_; ++input, weights += 9) {
      float* first = packed + block_at(output / block_, input / block_) + input % block_ * block_ +
                     output % block_;
      for (std::size_t tap = 0; tap < 9; ++tap) first[tap * block_ * block_] = weights[tap];
    }
  }
}

void TrainedWinograd::run(const ConvolutionOperands& operands) const {
  float* transformed = operands.workspace + winograd_.workspace_floats();
  const bool is_forward = direction_ == Direction::Forward;
  // Columns that only fill up a panel are multiplied too, and should not be slow numbers.
  if (!winograd_.fills_panels()) std::fill_n(transformed, winograd_.weight_floats(), 0.0f);
  execute::for_each_in_parallel(threads_, (is_forward ? outputs_ : inputs_) / block_,
                                [&](std::size_t i) {
                                  if (is_forward) {
                                    transform_forward(operands.weights, i, transformed);
                                  } else {
                                    transform_backward(operands.weights, i, transformed);
                                  }
                                });
  ConvolutionOperands inner = operands;
  inner.weights = transformed;
  winograd_.run(inner);
}

}  // namespace assay::cpu
