#include "execute/cuda/placement.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/checked.h"

namespace assay::cuda {

namespace {

// Axes of one element may have any stride.
bool has_strides(const Placement& placement, const Placement& wanted) {
  if (placement.elements() == 0) return true;
  for (std::size_t i = 0; i < placement.dims.size(); ++i) {
    if (placement.dims[i] != 1 && placement.strides[i] != wanted.strides[i]) return false;
  }
  return true;
}

Placement dense_placement(DataType type, Dims dims, const std::vector<std::size_t>& order) {
  Placement placement{.buffer = {}, .type = type, .dims = std::move(dims), .strides = {}};
  placement.strides.assign(placement.dims.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    placement.strides[order[i]] = stride;
    stride *= std::max<std::int64_t>(placement.dims[order[i]], 1);
  }
  return placement;
}

std::vector<std::size_t> axes_in_order(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

// Axes that lie behind each other, as one.
struct AxisRun {
  std::int64_t length = 1;
  std::int64_t stride = 1;  // of its last axis
};

// The longest runs, the slowest first. Axes of one element belong to any.
std::vector<AxisRun> runs_of(const Placement& placement) {
  std::vector<AxisRun> runs;
  for (std::size_t axis = 0; axis < placement.dims.size(); ++axis) {
    const AxisRun own = {placement.dims[axis], placement.strides[axis]};
    if (own.length == 1) continue;
    const bool goes_on = !runs.empty() && runs.back().stride == own.stride * own.length;
    if (goes_on) {
      runs.back() = {runs.back().length * own.length, own.stride};
    } else {
      runs.push_back(own);
    }
  }
  return runs;
}

}  // namespace

std::int64_t Placement::elements() const {
  return checked_product(dims).value_or(0);
}

std::int64_t Placement::bytes() const {
  return byte_size(type, elements()).value_or(0);
}

std::int64_t Placement::bytes_with_gaps() const {
  std::int64_t reach = elements();
  for (std::size_t i = 0; reach > 0 && i < dims.size(); ++i)
    reach = std::max(reach, dims[i] * strides[i]);
  return byte_size(type, reach).value_or(0);
}

std::int64_t Placement::distinct_bytes() const {
  Dims own = dims;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (strides[i] == 0 && own[i] > 0) own[i] = 1;
  return byte_size(type, checked_product(own).value_or(0)).value_or(0);
}

bool Placement::is_row_major() const {
  return has_strides(*this, row_major_placement(type, dims));
}

bool Placement::is_channels_last() const {
  return dims.size() > 2 && has_strides(*this, channels_last_placement(type, dims));
}

bool Placement::is_dense() const {
  return has_strides(*this, dense_placement(type, dims, order()));
}

std::vector<std::size_t> Placement::order() const {
  auto axes = axes_in_order(dims.size());
  const auto long_ones =
      std::ranges::stable_partition(axes, [&](std::size_t axis) { return dims[axis] == 1; });
  std::ranges::stable_sort(long_ones, std::greater(),
                           [&](std::size_t axis) { return strides[axis]; });
  return axes;
}

bool lies_in_groups(const Placement& placement, std::size_t axis, std::int64_t group) {
  if (placement.strides[axis] != 1 || placement.offset % group != 0) return false;
  for (std::size_t other = 0; other < placement.dims.size(); ++other)
    if (other != axis && placement.dims[other] != 1 && placement.strides[other] % group != 0)
      return false;
  return true;
}

Placement row_major_placement(DataType type, Dims dims) {
  const auto order = axes_in_order(dims.size());
  return dense_placement(type, std::move(dims), order);
}

Placement channels_last_placement(DataType type, Dims dims) {
  auto order = axes_in_order(dims.size());
  if (order.size() > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return dense_placement(type, std::move(dims), order);
}

Placement padded_placement(DataType type, Dims dims, std::int64_t channels) {
  Dims padded = dims;
  padded[1] = std::max(dims[1], channels);
  Placement placement = channels_last_placement(type, std::move(padded));
  placement.padding = placement.dims[1] - dims[1];
  placement.dims = std::move(dims);
  return placement;
}

Placement placement_like(const Placement& like, DataType type) {
  return dense_placement(type, like.dims, like.order());
}

Placement broadcast(const Placement& placement, const Dims& dims) {
  Placement seen = placement;
  seen.dims = dims;
  seen.strides.assign(dims.size(), 0);
  const std::size_t missing = dims.size() - placement.dims.size();
  for (std::size_t i = 0; i < placement.dims.size(); ++i) {
    if (placement.dims[i] != 1) seen.strides[missing + i] = placement.strides[i];
  }
  return seen;
}

std::optional<Placement> reshaped(const Placement& placement, const Dims& dims) {
  Placement seen = row_major_placement(placement.type, dims);
  if (seen.elements() != placement.elements()) return {};
  seen.buffer = placement.buffer;
  seen.offset = placement.offset;
  if (seen.elements() == 0) return seen;
  std::vector<AxisRun> runs = runs_of(placement);
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] == 1) continue;
    if (runs.back().length % dims[axis] != 0) return {};
    seen.strides[axis] = runs.back().stride;
    runs.back().stride *= dims[axis];
    runs.back().length /= dims[axis];
    if (runs.back().length == 1) runs.pop_back();
  }
  return seen;
}

Placement along_axis(const Placement& vector, const Dims& dims, std::size_t axis) {
  Placement seen = vector;
  seen.dims = dims;
  seen.strides.assign(dims.size(), 0);
  if (vector.elements() != 1) seen.strides[axis] = vector.strides.empty() ? 0 : vector.strides[0];
  return seen;
}

}  // namespace assay::cuda
