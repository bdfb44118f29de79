#include "execute/cpu/kernels/half_product.h"

#include <algorithm>

#include "base/checked.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

constexpr std::size_t kWidestPanel = 64;
constexpr std::size_t kRowsAtOnce = 48;  // sums of so many rows are finished while they are near

// Elements of a matrix of floats or 16-bit numbers, as floats.
const float* widened_row(const float* matrix, std::optional<HalfFormat> half, std::size_t at,
                         std::size_t count, float* workspace) {
  if (!half) return matrix + at;
  simd().widen(*half, reinterpret_cast<const std::uint16_t*>(matrix) + at, workspace, count);
  return workspace;
}

}  // namespace

HalfProduct::HalfProduct(const HalfProductShape& shape, std::vector<ProductFinish> finish,
                         int threads)
    : shape_(shape),
      finish_(std::move(finish), shape.result, simd()),
      threads_(threads),
      kernels_(simd()) {}

std::size_t HalfProduct::panels() const {
  return (shape_.columns + kernels_.half_panel_width - 1) / kernels_.half_panel_width;
}

std::size_t HalfProduct::weight_floats() const {
  return (panels() * kernels_.half_panel_width * shape_.depth + 1) / 2;
}

std::size_t HalfProduct::workspace_floats() const {
  return shape_.source ? shape_.rows * shape_.depth : 0;
}

std::int64_t HalfProduct::flops() const {
  const auto size = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  return saturating_multiply(
      2, saturating_multiply(size(shape_.rows),
                             saturating_multiply(size(shape_.depth), size(shape_.columns))));
}

void HalfProduct::pack_weights(const float* weights, float* packed) const {
  std::vector<std::uint16_t> halves(shape_.columns * shape_.depth);
  kernels_.narrow(shape_.weights, weights, halves.data(), halves.size());
  pack_halves(halves.data(), true, reinterpret_cast<std::uint16_t*>(packed));
}

void HalfProduct::pack_halves(const std::uint16_t* weights, bool is_transposed,
                              std::uint16_t* packed) const {
  const std::size_t width = kernels_.half_panel_width;
  execute::for_each_in_parallel(threads_, panels(), [&](std::size_t panel) {
    std::uint16_t* to = packed + panel * width * shape_.depth;
    const std::size_t first = panel * width;
    const std::size_t count = std::min(width, shape_.columns - first);
    for (std::size_t k = 0; k < shape_.depth; ++k, to += width) {
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t at =
            is_transposed ? (first + j) * shape_.depth + k : k * shape_.columns + first + j;
        to[j] = weights[at];
      }
      std::fill(to + count, to + width, std::uint16_t{0});
    }
  });
}

void HalfProduct::run_panel(const ConvolutionOperands& operands, const float* source,
                            std::size_t panel) const {
  float sums[kRowsAtOnce * kWidestPanel];
  const std::size_t width = kernels_.half_panel_width;
  const auto* weights =
      reinterpret_cast<const std::uint16_t*>(operands.weights) + panel * width * shape_.depth;
  const std::size_t column = panel * width;
  const std::size_t count = std::min(width, shape_.columns - column);
  for (std::size_t first = 0; first < shape_.rows; first += kRowsAtOnce) {
    const std::size_t rows = std::min(kRowsAtOnce, shape_.rows - first);
    kernels_.half_panel_product(shape_.weights, source + first * shape_.depth, rows, shape_.depth,
                                weights, shape_.depth, sums, width);
    for (std::size_t r = 0; r < rows; ++r)
      finish_.finish(operands, (first + r) * shape_.columns + column, column, count,
                     sums + r * width);
  }
}

void HalfProduct::run(const ConvolutionOperands& operands) const {
  const float* source = operands.source;
  if (shape_.source) {
    execute::for_each_in_parallel(threads_, shape_.rows, [&](std::size_t row) {
      widened_row(operands.source, shape_.source, row * shape_.depth, shape_.depth,
                  operands.workspace + row * shape_.depth);
    });
    source = operands.workspace;
  }
  execute::for_each_in_parallel(threads_, panels(),
                                [&](std::size_t panel) { run_panel(operands, source, panel); });
}

}  // namespace assay::cpu
