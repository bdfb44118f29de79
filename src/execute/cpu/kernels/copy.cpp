#include "execute/cpu/kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

namespace {

void drop_axis(CopyPlan& plan, std::size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  plan.dims.erase(plan.dims.begin() + at);
  plan.from.erase(plan.from.begin() + at);
  plan.to.erase(plan.to.begin() + at);
}

// By the distance between neighbours in the result, largest first.
void sort_axes(CopyPlan& plan) {
  std::vector<std::size_t> order(plan.dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return plan.to[a] > plan.to[b]; });
  CopyPlan sorted = plan;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.dims[i] = plan.dims[order[i]];
    sorted.from[i] = plan.from[order[i]];
    sorted.to[i] = plan.to[order[i]];
  }
  plan = std::move(sorted);
}

bool can_merge(const CopyPlan& plan, std::size_t axis) {
  const std::int64_t inner = plan.dims[axis + 1];
  return plan.from[axis] == plan.from[axis + 1] * inner &&
         plan.to[axis] == plan.to[axis + 1] * inner;
}

template <typename T>
void copy_row(const std::byte* from, std::int64_t from_stride, std::byte* to,
              std::int64_t to_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride * static_cast<std::int64_t>(sizeof(T)),
                from + i * from_stride * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  }
}

struct Sixteen {
  std::byte bytes[16];
};

void copy_last_axis(const CopyPlan& plan, const std::byte* from, std::byte* to) {
  const std::int64_t count = plan.dims.back();
  const std::int64_t a = plan.from.back();
  const std::int64_t b = plan.to.back();
  if (a == 1 && b == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * plan.element);
    return;
  }
  switch (plan.element) {
    case 1:
      return copy_row<std::uint8_t>(from, a, to, b, count);
    case 2:
      return copy_row<std::uint16_t>(from, a, to, b, count);
    case 4:
      return copy_row<std::uint32_t>(from, a, to, b, count);
    case 8:
      return copy_row<std::uint64_t>(from, a, to, b, count);
    default:
      return copy_row<Sixteen>(from, a, to, b, count);
  }
}

// Axes that one piece covers: two where the copy turns a matrix of floats, else one.
bool turns_floats(const CopyPlan& plan) {
  const std::size_t rank = plan.dims.size();
  return rank >= 2 && plan.element == 4 && plan.to[rank - 1] == 1 && plan.from[rank - 2] == 1 &&
         plan.from[rank - 1] > 1;
}

std::size_t piece_axes(const CopyPlan& plan) {
  return turns_floats(plan) ? 2 : 1;
}

}  // namespace

CopyPlan simplified(CopyPlan plan) {
  for (std::size_t axis = plan.dims.size(); axis-- > 0;) {
    if (plan.dims[axis] == 1) drop_axis(plan, axis);
  }
  sort_axes(plan);
  for (std::size_t axis = plan.dims.empty() ? 0 : plan.dims.size() - 1; axis-- > 0;) {
    if (!can_merge(plan, axis)) continue;
    plan.dims[axis + 1] *= plan.dims[axis];
    drop_axis(plan, axis);
  }
  // A matrix is transposed fastest when its two axes stand last.
  const std::size_t rank = plan.dims.size();
  if (rank >= 3 && plan.to[rank - 1] == 1 && plan.from[rank - 1] != 1) {
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      if (plan.from[axis] != 1) continue;
      for (auto* numbers : {&plan.dims, &plan.from, &plan.to}) {
        std::rotate(numbers->begin() + static_cast<std::ptrdiff_t>(axis),
                    numbers->begin() + static_cast<std::ptrdiff_t>(axis) + 1, numbers->end() - 1);
      }
      break;
    }
  }
  if (plan.dims.empty()) plan.dims = plan.from = plan.to = {1};
  return plan;
}

std::int64_t piece_count(const CopyPlan& plan) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + piece_axes(plan) < plan.dims.size(); ++i) count *= plan.dims[i];
  for (const std::int64_t dim : plan.dims) {
    if (dim == 0) return 0;
  }
  return count;
}

void copy_pieces(const CopyPlan& plan, const std::byte* from, std::byte* to, std::int64_t first,
                 std::int64_t last) {
  const auto size = static_cast<std::int64_t>(plan.element);
  const std::size_t rank = plan.dims.size();
  const std::size_t outer = rank - piece_axes(plan);
  for (std::int64_t piece = first; piece < last; ++piece) {
    std::int64_t rest = piece;
    const std::byte* source = from;
    std::byte* target = to;
    for (std::size_t axis = outer; axis-- > 0;) {
      const std::int64_t index = rest % plan.dims[axis];
      rest /= plan.dims[axis];
      source += index * plan.from[axis] * size;
      target += index * plan.to[axis] * size;
    }
    if (piece_axes(plan) == 1) {
      copy_last_axis(plan, source, target);
      continue;
    }
    simd().transpose(reinterpret_cast<const float*>(source),
                     static_cast<std::size_t>(plan.from[rank - 1]),
                     reinterpret_cast<float*>(target), static_cast<std::size_t>(plan.to[rank - 2]),
                     static_cast<std::size_t>(plan.dims[rank - 1]),
                     static_cast<std::size_t>(plan.dims[rank - 2]));
  }
}

}  // namespace assay::cpu
