#include "execute/cpu/kernels/typed.h"

#include <algorithm>

namespace assay::cpu {

namespace {

constexpr std::int64_t kBlockElements = 2048;

std::int64_t blocks_of_row(const TypedGrid& grid) {
  return (grid.dims.back() + kBlockElements - 1) / kBlockElements;
}

bool goes_on(const TypedGrid& grid, std::size_t axis) {
  return std::ranges::all_of(grid.strides, [&](const auto& strides) {
    return strides[axis] == strides[axis + 1] * grid.dims[axis + 1];
  });
}

void drop(TypedGrid& grid, std::size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  grid.dims.erase(grid.dims.begin() + at);
  for (auto& strides : grid.strides) strides.erase(strides.begin() + at);
}

}  // namespace

std::int64_t TypedGrid::blocks() const {
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < dims.size(); ++axis) rows *= dims[axis];
  return rows * blocks_of_row(*this);
}

TypedGrid merged(TypedGrid grid) {
  for (std::size_t axis = grid.dims.size(); axis-- > 0 && grid.dims.size() > 1;) {
    if (grid.dims[axis] == 1) drop(grid, axis);
  }
  for (std::size_t axis = grid.dims.size() - 1; axis-- > 0;) {
    if (!goes_on(grid, axis)) continue;
    grid.dims[axis + 1] *= grid.dims[axis];
    drop(grid, axis);
  }
  return grid;
}

bool run_typed(const TypedWork& work, const TypedGrid& grid,
               const std::array<const std::byte*, kTypedOperands>& operands, std::byte* result,
               std::int64_t first, std::int64_t last) {
  const std::int64_t per_row = blocks_of_row(grid);
  const std::int64_t width = grid.dims.back();
  std::byte truths[kBlockElements];
  TypedRow row{.numbers = work.numbers};
  for (std::size_t i = 0; i < grid.strides.size(); ++i) row.strides[i] = grid.strides[i].back();
  for (std::int64_t block = first; block < last; ++block) {
    const std::int64_t start = block % per_row * kBlockElements;
    row.count = std::min(kBlockElements, width - start);
    for (std::size_t i = 0; i < grid.strides.size(); ++i) {
      std::int64_t offset = start * grid.strides[i].back();
      std::int64_t rest = block / per_row;
      for (std::size_t axis = grid.dims.size() - 1; axis-- > 0;) {
        offset += rest % grid.dims[axis] * grid.strides[i][axis];
        rest /= grid.dims[axis];
      }
      row.operands[i] = operands[i] + offset * grid.operand_bytes[i];
    }
    std::byte* to = result + (block / per_row * width + start) * grid.result_bytes;
    row.result = work.then != nullptr ? truths : to;
    if (!work.run(row)) return false;
    if (work.then != nullptr) work.then(truths, to, 0, row.count);
  }
  return true;
}

}  // namespace assay::cpu
