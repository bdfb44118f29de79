#include "execute/cpu/kernels/column_product.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "execute/threads.h"

namespace assay::cpu {

using kernels::IndexRange;
using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

// The window whose tap falls on this position, or nothing.
std::optional<std::int64_t> window_at(const WindowAxis& axis, std::int64_t position,
                                      std::int64_t tap) {
  const std::int64_t from_first = position + axis.pad_begin - tap * axis.dilation;
  if (from_first < 0 || from_first % axis.stride != 0) return {};
  const std::int64_t window = from_first / axis.stride;
  return window < axis.output ? std::optional(window) : std::nullopt;
}

}  // namespace

ColumnProduct::ColumnProduct(const WindowGrid& grid, std::int64_t images, std::int64_t channels,
                             std::int64_t outputs, const Epilogue& epilogue, int threads,
                             const SimdKernels& kernels)
    : kernels_(kernels),
      grid_(grid),
      channels_(static_cast<std::size_t>(channels)),
      outputs_(static_cast<std::size_t>(outputs)),
      taps_(static_cast<std::size_t>(grid.taps())),
      pixels_(static_cast<std::size_t>(images * grid.output_elements())),
      rows_(static_cast<std::size_t>(images * grid.axes[0].input * grid.axes[1].input)),
      epilogue_(epilogue),
      threads_(threads) {}

std::int64_t ColumnProduct::flops() const {
  return 2 * static_cast<std::int64_t>(pixels_ * channels_ * columns());
}

// Panels of columns: tap by tap, the outputs of each.
void ColumnProduct::pack_weights(const float* weights, float* packed) const {
  const std::size_t width = kernels_.panel_width;
  std::fill_n(packed, weight_floats(), 0.0f);
  for (std::size_t channel = 0; channel < channels_; ++channel) {
    for (std::size_t output = 0; output < outputs_; ++output) {
      for (std::size_t tap = 0; tap < taps_; ++tap) {
        const std::size_t column = tap * outputs_ + output;
        packed[column / width * width * channels_ + channel * width + column % width] =
            weights[(channel * outputs_ + output) * taps_ + tap];
      }
    }
  }
}

void ColumnProduct::multiply(const ConvolutionOperands& operands, std::size_t first,
                             std::size_t last) const {
  constexpr std::size_t kPixelsAtOnce = 64;
  const std::size_t panel_floats = kernels_.panel_width * channels_;
  for (; first < last; first += kPixelsAtOnce) {
    const std::size_t count = std::min(kPixelsAtOnce, last - first);
    for (std::size_t column = 0; column < columns(); column += kernels_.panel_width) {
      const float* panel = operands.weights + column * channels_;
      kernels_.panel_product(operands.source + first * channels_, count, channels_, panel,
                             channels_, operands.workspace + first * row_stride() + column,
                             row_stride(), {panel, panel_floats});
    }
  }
}

// The taps from `first_tap` on, of a row of windows that fall on one row of the result.
void ColumnProduct::add_taps(const float* products, std::size_t first_tap, float* to) const {
  const WindowAxis& across = grid_.axes[2];
  for (std::int64_t tap = 0; tap < across.kernel; ++tap) {
    const IndexRange windows = across.windows_inside(tap);
    const std::size_t column = (first_tap + static_cast<std::size_t>(tap)) * outputs_;
    for (std::int64_t window = windows.first; window < windows.last; ++window) {
      const float* from = products + static_cast<std::size_t>(window) * row_stride() + column;
      float* pixel = to + static_cast<std::size_t>(across.position(window, tap)) * outputs_;
      for (std::size_t output = 0; output < outputs_; ++output) pixel[output] += from[output];
    }
  }
}

void ColumnProduct::add_rows(const float* products, std::size_t row, float* to) const {
  const auto& [deep, down, across] = grid_.axes;
  const auto at = static_cast<std::int64_t>(row);
  const std::int64_t y = at % down.input;
  const std::int64_t z = at / down.input % deep.input;
  const std::int64_t image = at / down.input / deep.input;
  for (std::int64_t i = 0; i < deep.kernel; ++i) {
    const auto slice = window_at(deep, z, i);
    for (std::int64_t j = 0; slice && j < down.kernel; ++j) {
      const auto line = window_at(down, y, j);
      if (!line) continue;
      const std::int64_t window =
          ((image * deep.output + *slice) * down.output + *line) * across.output;
      add_taps(products + static_cast<std::size_t>(window) * row_stride(),
               static_cast<std::size_t>((i * down.kernel + j) * across.kernel), to);
    }
  }
}

void ColumnProduct::finish(float* to) const {
  if (std::isinf(epilogue_.low) && std::isinf(epilogue_.high)) return;
  const auto count = static_cast<std::size_t>(grid_.axes[2].input) * outputs_;
  kernels_.unary(UnaryOp::Clip, epilogue_.low, epilogue_.high, to, to, count);
}

void ColumnProduct::run(const ConvolutionOperands& operands) const {
  execute::in_parallel(
      threads_, static_cast<std::int64_t>(pixels_), [&](std::int64_t first, std::int64_t last) {
        multiply(operands, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
      });
  const auto width = static_cast<std::size_t>(grid_.axes[2].input);
  execute::for_each_in_parallel(threads_, rows_, [&](std::size_t row) {
    float* to = operands.result + row * width * outputs_;
    for (std::size_t i = 0; i < width * outputs_; ++i)
      to[i] = operands.bias == nullptr ? 0.0f : operands.bias[i % outputs_];
    add_rows(operands.workspace, row, to);
    finish(to);
  });
}

}  // namespace assay::cpu
