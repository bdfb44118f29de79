// Windows that slide over one to three spatial axes: which element a tap of a window falls on.
// Convolutions and poolings share it. If there are fewer than three axes, leading axes of size 1
// are added, so that the same loops over depth, height and width work for all.
#pragma once

#include <array>

#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

// first, first + 1, … last - 1
struct IndexRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t count() const { return last > first ? last - first : 0; }
};

struct WindowAxis {
  std::int64_t input = 1;   // elements that windows slide over
  std::int64_t output = 1;  // windows
  std::int64_t kernel = 1;  // taps of a window
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;

  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
  // May lie in the padding: below 0, or at `input` or above.
  std::int64_t position(std::int64_t window, std::int64_t tap) const {
    return window * stride - pad_begin + tap * dilation;
  }
  IndexRange taps_inside(std::int64_t window) const;  // taps that do not fall on padding
  IndexRange windows_inside(std::int64_t tap) const;  // windows whose tap does not
  // Taps on elements or on the padding, without what ceil_mode adds beyond it.
  std::int64_t taps_with_padding(std::int64_t window) const;
};

struct WindowGrid {
  std::array<WindowAxis, 3> axes = {};  // depth, height, width
  std::size_t rank = 0;                 // how many of them, at the end, are the op's own

  std::int64_t input_elements() const;
  std::int64_t output_elements() const;
  std::int64_t taps() const;
  Dims input_dims() const;  // `rank` numbers
  Dims output_dims() const;
};

// One tap of the kernel: its place in depth, height and width.
using WindowTap = std::array<std::int64_t, 3>;

// Calls `visit(tap)` for every tap of the kernel, in row-major order.
template <typename Visit>
void for_each_kernel_tap(const WindowGrid& grid, Visit visit) {
  WindowTap tap = {};
  for (tap[0] = 0; tap[0] < grid.axes[0].kernel; ++tap[0]) {
    for (tap[1] = 0; tap[1] < grid.axes[1].kernel; ++tap[1]) {
      for (tap[2] = 0; tap[2] < grid.axes[2].kernel; ++tap[2]) visit(tap);
    }
  }
}

// Calls `visit(input position, window position, count)` for every row of windows whose `tap` falls
// on elements: windows follow each other, the elements lie a stride apart.
template <typename Visit>
void for_each_row(const WindowGrid& grid, const WindowTap& tap, Visit visit) {
  const auto& [depth, height, width] = grid.axes;
  const IndexRange slices = depth.windows_inside(tap[0]);
  const IndexRange rows = height.windows_inside(tap[1]);
  const IndexRange columns = width.windows_inside(tap[2]);
  for (std::int64_t z = slices.first; z < slices.last; ++z) {
    for (std::int64_t y = rows.first; y < rows.last; ++y) {
      const std::int64_t row =
          depth.position(z, tap[0]) * height.input + height.position(y, tap[1]);
      visit(row * width.input + width.position(columns.first, tap[2]),
            (z * height.output + y) * width.output + columns.first, columns.count());
    }
  }
}

// (batch, channels, spatial…)
Dims image_dims(std::int64_t batch, std::int64_t channels, const Dims& spatial);

// Reads strides, dilations, pads, auto_pad and ceil_mode of an op whose windows slide over
// `spatial`, the dimensions after batch and channels.
WindowGrid window_grid(const KernelCall& call, std::span<const std::int64_t> spatial,
                       std::span<const std::int64_t> kernel);

// The same for windows that are the input, each spread over `kernel` elements of the output:
// output_padding and output_shape count as well. `input` of an axis is the op's output.
WindowGrid transposed_window_grid(const KernelCall& call, std::span<const std::int64_t> spatial,
                                  std::span<const std::int64_t> kernel);

// The dimensions after batch and channels; fails unless there are one to three.
std::span<const std::int64_t> spatial_dims(const KernelCall& call, const Dims& dims);

// The attribute kernel_shape; fails unless it holds a number for each of `axes` axes.
Dims kernel_shape(const KernelCall& call, std::size_t axes);
// Fails if the attribute is there and differs from `kernel`, the weight's.
void check_kernel_shape(const KernelCall& call, std::span<const std::int64_t> kernel);

}  // namespace assay::kernels
