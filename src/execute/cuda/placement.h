// Where a value lives on the GPU: a buffer, and the layout of its elements in it. Any strides are
// fine: a Transpose, Slice or Split leaves a view behind and moves nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/graph.h"
#include "execute/buffers.h"

namespace assay::cuda {

using execute::BufferId;
using Dims = std::vector<std::int64_t>;

struct Placement {
  BufferId buffer;
  DataType type = DataType::Float32;
  Dims dims;
  Dims strides;             // elements
  std::int64_t offset = 0;  // elements
  // Zeros behind the channels of each pixel, where they lie last: some convolutions want them.
  std::int64_t padding = 0;

  std::int64_t elements() const;
  std::int64_t bytes() const;  // of the elements
  std::int64_t bytes_with_gaps() const;
  // Of the elements that differ: those that an axis of stride 0 repeats count once.
  std::int64_t distinct_bytes() const;
  bool is_row_major() const;
  bool is_channels_last() const;  // axis 1 lies last
  bool is_padded() const { return padding > 0; }
  bool is_dense() const;  // in some order of the axes, without gaps
  // Axes from the one with the largest stride to the one with the smallest.
  std::vector<std::size_t> order() const;
};

Placement row_major_placement(DataType type, Dims dims);
Placement channels_last_placement(DataType type, Dims dims);
// Whether groups of so many elements along this axis lie side by side, aligned to their size.
bool lies_in_groups(const Placement& placement, std::size_t axis, std::int64_t group);
// With zeros that make up for the channels that are missing.
Placement padded_placement(DataType type, Dims dims, std::int64_t channels);
// In the order of the axes of `like`, without gaps.
Placement placement_like(const Placement& like, DataType type);

// Seen as of these dimensions, which `placement` is broadcast to.
Placement broadcast(const Placement& placement, const Dims& dims);
// The same elements under other dimensions, in row-major order of both; nothing if that takes a
// copy: axes become one only where they lie behind each other.
std::optional<Placement> reshaped(const Placement& placement, const Dims& dims);
// A vector along one axis of these dimensions, the same for all others.
Placement along_axis(const Placement& vector, const Dims& dims, std::size_t axis);

}  // namespace assay::cuda
