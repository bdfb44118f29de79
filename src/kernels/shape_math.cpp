#include "kernels/shape_math.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace assay::kernels {

std::optional<std::size_t> normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::optional<std::vector<std::size_t>> normalized_axes(std::span<const std::int64_t> axes,
                                                        std::size_t rank) {
  if (axes.size() > rank) return std::nullopt;
  std::vector<std::size_t> normalized;
  for (const std::int64_t axis : axes) {
    const auto one = normalized_axis(axis, rank);
    if (!one) return std::nullopt;
    normalized.push_back(*one);
  }
  std::ranges::sort(normalized);
  if (std::ranges::adjacent_find(normalized) != normalized.end()) return std::nullopt;
  return normalized;
}

SliceRange slice_range(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? dim : dim - 1;
  start = std::clamp(start, step > 0 ? low : std::min<std::int64_t>(0, high), high);
  end = std::clamp(end, low, high);
  const std::int64_t distance = step > 0 ? end - start : start - end;
  if (distance <= 0) return {std::max<std::int64_t>(start, 0), step, 0};
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
  const std::uint64_t count = 1 + (static_cast<std::uint64_t>(distance) - 1) / stride;
  return {start, step, static_cast<std::int64_t>(count)};
}

std::optional<Dims> broadcast_dims(std::span<const std::int64_t> a,
                                   std::span<const std::int64_t> b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= result.size(); ++back) {
    const std::int64_t left = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t right = back <= b.size() ? b[b.size() - back] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    result[result.size() - back] = left == 1 ? right : left;
  }
  return result;
}

std::optional<Dims> reshaped_dims(std::span<const std::int64_t> from,
                                  std::span<const std::int64_t> wanted, bool allow_zero) {
  const auto elements = checked_product(from);
  if (!elements) return std::nullopt;
  Dims dims(wanted.begin(), wanted.end());
  std::optional<std::size_t> open;
  std::int64_t others = 1;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == -1 && open) return std::nullopt;
    if (dims[axis] == -1) {
      open = axis;
      continue;
    }
    if (dims[axis] == 0 && !allow_zero) {
      if (axis >= from.size()) return std::nullopt;
      dims[axis] = from[axis];
    }
    if (dims[axis] < 0) return std::nullopt;
    const auto product = checked_multiply(others, dims[axis]);
    if (!product) return std::nullopt;
    others = *product;
  }
  if (!open) return others == *elements ? std::optional(dims) : std::nullopt;
  if (others == 0) {
    if (*elements != 0) return std::nullopt;
    dims[*open] = 0;
    return dims;
  }
  if (*elements % others != 0) return std::nullopt;
  dims[*open] = *elements / others;
  return dims;
}

std::optional<std::int64_t> range_count(std::int64_t start, std::int64_t limit,
                                        std::int64_t delta) {
  if (delta == 0) return std::nullopt;
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  const auto unsigned_of = [](std::int64_t number) { return static_cast<std::uint64_t>(number); };
  const std::uint64_t distance =
      delta > 0 ? unsigned_of(limit) - unsigned_of(start) : unsigned_of(start) - unsigned_of(limit);
  const std::uint64_t stride = delta > 0 ? unsigned_of(delta) : ~unsigned_of(delta) + 1;
  const std::uint64_t count = 1 + (distance - 1) / stride;
  if (count > unsigned_of(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

std::optional<std::int64_t> range_count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (std::isnan(count) || count > 9e18) return std::nullopt;
  return count <= 0 ? 0 : static_cast<std::int64_t>(count);
}

Dims row_major_strides(std::span<const std::int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) {
    // A tensor without elements may have dimensions whose product would wrap; nothing reads it.
    strides[axis - 1] = saturating_multiply(strides[axis], dims[axis]);
  }
  return strides;
}

Dims broadcast_strides(std::span<const std::int64_t> dims, std::span<const std::int64_t> target) {
  const Dims own = row_major_strides(dims);
  Dims strides(target.size(), 0);
  const std::size_t lead = target.size() - dims.size();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    strides[lead + axis] = dims[axis] == 1 ? 0 : own[axis];
  }
  return strides;
}

std::int64_t offset_of(std::span<const std::int64_t> index, std::span<const std::int64_t> strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * strides[axis];
  return offset;
}

}  // namespace assay::kernels
