// Shared by poolings and norms.
#pragma once

#include "kernels/kernel.h"
#include "kernels/window_grid.h"

namespace assay::kernels {

// The attribute `p` of a p-norm, an int or, in the first version, a float; fails unless positive.
double norm_power(const KernelCall& call);

// The windows of a pooling over an input (N, C, spatial…) of these dimensions.
WindowGrid pooling_grid(const KernelCall& call, const Dims& input);

// One window of the grid: which of them, and where its taps fall in the plane.
struct Window {
  const WindowGrid& grid;
  std::array<std::int64_t, 3> index = {};

  // Calls `visit(position in the plane)` for every tap that falls on an element.
  template <typename Visit>
  void for_each_tap(Visit visit) const {
    const auto& [depth, height, width] = grid.axes;
    const IndexRange slices = depth.taps_inside(index[0]);
    const IndexRange rows = height.taps_inside(index[1]);
    const IndexRange columns = width.taps_inside(index[2]);
    for (std::int64_t z = slices.first; z < slices.last; ++z) {
      for (std::int64_t y = rows.first; y < rows.last; ++y) {
        const std::int64_t row =
            depth.position(index[0], z) * height.input + height.position(index[1], y);
        for (std::int64_t x = columns.first; x < columns.last; ++x)
          visit(row * width.input + width.position(index[2], x));
      }
    }
  }

  std::int64_t taps_inside() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < 3; ++i) count *= grid.axes[i].taps_inside(index[i]).count();
    return count;
  }
  std::int64_t taps_with_padding() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < 3; ++i) count *= grid.axes[i].taps_with_padding(index[i]);
    return count;
  }
};

// Calls `visit(result position, first element of the plane, window)` for every plane and window.
template <typename Visit>
void for_each_window(const WindowGrid& grid, std::int64_t planes, Visit visit) {
  std::int64_t position = 0;
  const auto& [depth, height, width] = grid.axes;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const std::int64_t start = plane * grid.input_elements();
    Window window{grid};
    auto& [z, y, x] = window.index;
    for (z = 0; z < depth.output; ++z) {
      for (y = 0; y < height.output; ++y) {
        for (x = 0; x < width.output; ++x) visit(position++, start, window);
      }
    }
  }
}

// NaN is greater than every number, so that it is not lost.
template <typename T>
bool is_greater(T a, T b) {
  return a > b || (a != a && b == b);
}

// The position in the plane of the first maximum of a window; -1 for a window that is all padding.
template <typename T>
std::int64_t greatest_in(const Window& window, const T* plane) {
  std::int64_t best = -1;
  window.for_each_tap([&](std::int64_t place) {
    if (best < 0 || is_greater(plane[place], plane[best])) best = place;
  });
  return best;
}

// The number of taps that an average is divided by.
std::int64_t averaged_taps(const KernelCall& call, const Window& window);

}  // namespace assay::kernels
