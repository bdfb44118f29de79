// The arithmetic of shapes that kernels and shape inference share: axes, slices, broadcasting,
// reshaping, and walking over indices. Failure is an empty optional; the caller names the node.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/shape.h"

namespace assay::kernels {

// An axis of -rank..rank-1 as 0..rank-1.
std::optional<std::size_t> normalized_axis(std::int64_t axis, std::size_t rank);
// Sorted; nothing when one is out of range or stands twice.
std::optional<std::vector<std::size_t>> normalized_axes(std::span<const std::int64_t> axes,
                                                        std::size_t rank);

// What one axis of a Slice selects: `first`, `first + step`, … `count` times.
struct SliceRange {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
// `step` must not be 0.
SliceRange slice_range(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step);

std::optional<Dims> broadcast_dims(std::span<const std::int64_t> a,
                                   std::span<const std::int64_t> b);

// ONNX Reshape: -1 is inferred, 0 copies the input's dimension unless `allow_zero`. Nothing when
// the element counts cannot agree.
std::optional<Dims> reshaped_dims(std::span<const std::int64_t> from,
                                  std::span<const std::int64_t> wanted, bool allow_zero);

// How many numbers Range makes: max(0, ceil((limit - start) / delta)); nothing when delta is 0 or
// the count does not fit.
std::optional<std::int64_t> range_count(std::int64_t start, std::int64_t limit, std::int64_t delta);
std::optional<std::int64_t> range_count(double start, double limit, double delta);

Dims row_major_strides(std::span<const std::int64_t> dims);
// Strides to read a tensor of `dims` as if it were broadcast to `target`: 0 where it repeats.
Dims broadcast_strides(std::span<const std::int64_t> dims, std::span<const std::int64_t> target);

// Calls `visit(index, position)` for every index of a tensor of `dims`, in row-major order.
template <typename Visit>
void for_each_index(std::span<const std::int64_t> dims, Visit visit) {
  for (const std::int64_t dim : dims) {
    if (dim == 0) return;
  }
  Dims index(dims.size(), 0);
  for (std::size_t position = 0;; ++position) {
    visit(std::span<const std::int64_t>(index), position);
    std::size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

// The position of `index` in memory.
std::int64_t offset_of(std::span<const std::int64_t> index, std::span<const std::int64_t> strides);

}  // namespace assay::kernels
