#include "execute/cpu/kernels/trained_winograd.h"

#include <algorithm>
#include <utility>

#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

// Filters that are transformed together: the largest block.
constexpr std::size_t kMostTogether = 16;

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
      input_block_(block == 0 ? inputs_ : block),
      output_block_(block == 0 ? outputs_ : block),
      threads_(threads),
      kernels_(kernels),
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

std::size_t TrainedWinograd::filter_at(std::size_t output, std::size_t input) const {
  const std::size_t block =
      output / output_block_ * (inputs_ / input_block_) + input / input_block_;
  return block * 9 * tap_stride() + input % input_block_ * output_block_ + output % output_block_;
}

void TrainedWinograd::transform_forward(const float* weights, std::size_t first, std::size_t count,
                                        float* transformed) const {
  for (std::size_t input = 0; input < inputs_; ++input)
    winograd_.pack_filters(weights + filter_at(first, input), tap_stride(), first, input, count,
                           transformed);
}

// Filters are flipped, and their inputs come to lie side by side.
void TrainedWinograd::transform_backward(const float* weights, std::size_t first, std::size_t count,
                                         float* transformed) const {
  constexpr std::size_t kSquare = kMostTogether * kMostTogether;
  float flipped[9 * kSquare];
  const std::size_t together = std::min(kMostTogether, output_block_);
  for (std::size_t output = 0; output < outputs_; output += together) {
    const std::size_t outputs = std::min(together, outputs_ - output);
    const float* given = weights + filter_at(output, first);
    for (std::size_t tap = 0; tap < 9; ++tap) {
      kernels_.transpose(given + (8 - tap) * tap_stride(), output_block_, flipped + tap * kSquare,
                         kMostTogether, count, outputs);
    }
    for (std::size_t i = 0; i < outputs; ++i)
      winograd_.pack_filters(flipped + i * kMostTogether, kSquare, first, output + i, count,
                             transformed);
  }
}

void TrainedWinograd::transform(const float* weights, float* transformed) const {
  const bool is_forward = direction_ == Direction::Forward;
  const std::size_t all = is_forward ? outputs_ : inputs_;
  const std::size_t together = std::min(kMostTogether, is_forward ? output_block_ : input_block_);
  execute::for_each_in_parallel(threads_, (all + together - 1) / together, [&](std::size_t i) {
    const std::size_t first = i * together;
    const std::size_t count = std::min(together, all - first);
    if (is_forward) {
      transform_forward(weights, first, count, transformed);
    } else {
      transform_backward(weights, first, count, transformed);
    }
  });
}

void TrainedWinograd::pack_weights(const float* weights, float* packed) const {
  for (std::size_t output = 0; output < outputs_; ++output) {
    for (std::size_t input = 0; input < inputs_; ++input, weights += 9) {
      float* first = packed + filter_at(output, input);
      for (std::size_t tap = 0; tap < 9; ++tap) first[tap * tap_stride()] = weights[tap];
    }
  }
}

void TrainedWinograd::run(const ConvolutionOperands& operands) const {
  float* transformed = operands.workspace + winograd_.workspace_floats();
  // Columns that only fill up a panel are multiplied too, and should not be slow numbers.
  if (!winograd_.fills_panels()) std::fill_n(transformed, winograd_.weight_floats(), 0.0f);
  transform(operands.weights, transformed);
  ConvolutionOperands inner = operands;
  inner.weights = transformed;
  winograd_.run(inner);
}

}  // namespace assay::cpu
