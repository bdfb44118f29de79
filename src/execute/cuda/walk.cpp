#include "execute/cuda/walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kWidestLoad = 16;  // bytes

// Whether axis `outer` followed by `inner` is one longer axis for every operand.
bool is_one_axis(const std::vector<Dims>& strides, std::size_t outer, std::size_t inner,
                 std::int64_t inner_length) {
  return std::ranges::all_of(
      strides, [&](const Dims& own) { return own[outer] == own[inner] * inner_length; });
}

// The furthest that an element lies from the first one.
std::int64_t reach(const Placement& placement) {
  std::int64_t sum = 0;
  for (std::size_t axis = 0; axis < placement.dims.size(); ++axis)
    sum += std::abs(placement.strides[axis]) * placement.dims[axis];
  return sum;
}

std::string product_text(const std::string& coordinate, std::int64_t stride) {
  return stride == 1 ? coordinate : fmt::format("{} * {}", coordinate, stride);
}

std::string sum_text(const std::vector<std::string>& terms) {
  return terms.empty() ? "0" : join(terms, " + ");
}

}  // namespace

bool Walk::is_short() const {
  std::int64_t furthest = elements;
  for (const Dims& own : strides) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) last += std::abs(own[i]) * lengths[i];
    furthest = std::max(furthest, last);
  }
  return furthest < std::numeric_limits<std::int32_t>::max() / 2;
}

std::int64_t Walk::vector_width(std::span<const Placement> operands) const {
  if (lengths.empty()) return 1;
  std::int64_t largest = 1;
  for (const Placement& operand : operands)
    largest = std::max<std::int64_t>(largest, bits(operand.type) / 8);
  const auto fits = [&](std::int64_t width) {
    if (lengths.back() % width != 0) return false;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      const bool repeats = strides[i].back() == 0;
      if (!repeats && strides[i].back() != 1) return false;
      if (repeats) continue;
      if (operands[i].offset % width != 0) return false;
      for (std::size_t axis = 0; axis + 1 < lengths.size(); ++axis)
        if (strides[i][axis] % width != 0) return false;
    }
    return true;
  };
  for (std::int64_t width = kWidestLoad / largest; width > 1; width /= 2)
    if (fits(width)) return width;
  return 1;
}

std::int64_t vector_width(const Placement& placement, std::size_t axis) {
  const auto is_whole = [&](std::int64_t width) {
    if (placement.dims[axis] % width != 0 || placement.offset % width != 0) return false;
    for (std::size_t i = 0; i < placement.dims.size(); ++i)
      if (i != axis && placement.dims[i] != 1 && placement.strides[i] % width != 0) return false;
    return true;
  };
  if (placement.strides[axis] != 1) return 1;
  for (std::int64_t width = kWidestLoad * 8 / bits(placement.type); width > 1; width /= 2)
    if (is_whole(width)) return width;
  return 1;
}

Walk walk_over(std::span<const Placement> operands) {
  Walk walk;
  const Placement& first = operands.front();
  walk.elements = first.elements();
  walk.strides.resize(operands.size());
  for (const std::size_t axis : first.order()) {
    if (first.dims[axis] == 1) continue;
    walk.lengths.push_back(first.dims[axis]);
    for (std::size_t i = 0; i < operands.size(); ++i)
      walk.strides[i].push_back(operands[i].strides[axis]);
  }
  for (std::size_t axis = walk.lengths.size(); axis-- > 1;) {
    if (!is_one_axis(walk.strides, axis - 1, axis, walk.lengths[axis])) continue;
    walk.lengths[axis - 1] *= walk.lengths[axis];
    walk.lengths.erase(walk.lengths.begin() + static_cast<std::ptrdiff_t>(axis));
    for (Dims& own : walk.strides) own.erase(own.begin() + static_cast<std::ptrdiff_t>(axis) - 1);
  }
  return walk;
}

std::string coordinates_text(const Walk& walk, const std::string& index) {
  const std::string type = walk.is_short() ? "int" : "long long";
  std::string text;
  std::string rest = index;
  for (std::size_t axis = walk.lengths.size(); axis-- > 0;) {
    const std::string value = axis == 0 ? rest : remainder_text(rest, walk.lengths[axis]);
    text += fmt::format("  const {} c{} = {};\n", type, axis, value);
    if (axis > 0) {
      text += fmt::format("  const {} r{} = {};\n", type, axis,
                          quotient_text(rest, walk.lengths[axis]));
      rest = fmt::format("r{}", axis);
    }
  }
  return text;
}

std::string offset_text(const Walk& walk, std::size_t operand) {
  std::vector<std::string> terms;
  for (std::size_t axis = 0; axis < walk.lengths.size(); ++axis) {
    const std::int64_t stride = walk.strides[operand][axis];
    if (stride != 0) terms.push_back(product_text(fmt::format("c{}", axis), stride));
  }
  return sum_text(terms);
}

// Coordinates are of 32 bits: they are widened where the products or the sum need more.
std::string offset_text(const Placement& placement, std::span<const std::string> coordinates) {
  const bool is_far = reach(placement) > std::numeric_limits<std::int32_t>::max();
  const std::string type = is_far ? "(long long)" : "";
  std::vector<std::string> terms;
  for (std::size_t axis = 0; axis < placement.dims.size(); ++axis) {
    if (placement.strides[axis] == 0 || placement.dims[axis] == 1) continue;
    terms.push_back(
        product_text(fmt::format("{}({})", type, coordinates[axis]), placement.strides[axis]));
  }
  return sum_text(terms);
}

std::string quotient_text(const std::string& a, std::int64_t b) {
  return b == 1 ? a : fmt::format("({}) / {}", a, b);
}

std::string remainder_text(const std::string& a, std::int64_t b) {
  return b == 1 ? "0" : fmt::format("({}) % {}", a, b);
}

}  // namespace assay::cuda
