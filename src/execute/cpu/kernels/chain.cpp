#include "execute/cpu/kernels/chain.h"

#include <algorithm>
#include <array>
#include <optional>

namespace assay::cpu {

namespace {

constexpr std::int64_t kBlock = 1024;  // 4 KiB: several operands fit the first cache

constexpr std::int64_t kShortRow = 256;  // elements; each row costs some 20 ns

bool goes_on(const ChainGrid& grid, std::size_t operand, std::size_t axis) {
  const auto& strides = grid.strides[operand];
  if (grid.periods[operand] > 0 && axis + 2 == grid.dims.size()) return strides[axis] == 0;
  return strides[axis] == strides[axis + 1] * grid.dims[axis + 1];
}

bool can_repeat(const ChainGrid& grid, std::size_t operand, std::size_t axis) {
  const auto& strides = grid.strides[operand];
  return axis + 2 == grid.dims.size() && grid.dims.back() < kShortRow && strides[axis] == 0 &&
         strides[axis + 1] == 1;
}

bool can_merge(const ChainGrid& grid, std::size_t axis) {
  for (std::size_t i = 0; i < grid.strides.size(); ++i) {
    if (!goes_on(grid, i, axis) && !can_repeat(grid, i, axis)) return false;
  }
  return true;
}

void drop_axis(ChainGrid& grid, std::size_t axis) {
  grid.dims.erase(grid.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  for (auto& strides : grid.strides)
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
}

void merge_into_next(ChainGrid& grid, std::size_t axis) {
  for (std::size_t i = 0; i < grid.strides.size(); ++i) {
    if (!goes_on(grid, i, axis)) grid.periods[i] = grid.dims.back();
  }
  grid.dims[axis + 1] *= grid.dims[axis];
  drop_axis(grid, axis);
}

std::int64_t blocks_per_row(const ChainGrid& grid) {
  return (grid.dims.back() + kBlock - 1) / kBlock;
}

// `period` elements over and over, beginning with the one at `phase`.
template <typename T>
void repeat(const T* elements, std::size_t period, std::size_t phase, std::size_t count, T* to) {
  const std::size_t head = std::min(period - phase, count);
  std::copy_n(elements + phase, head, to);
  std::size_t filled = std::min(period, count);
  std::copy_n(elements, filled - head, to + head);
  while (filled < count) {  // what is there, doubled
    const std::size_t more = std::min(filled, count - filled);
    std::copy_n(to, more, to + filled);
    filled += more;
  }
}

// Where the operands of a block start.
struct Position {
  std::array<ChainElements, kMostOperands> operands = {};
  const ChainGrid* grid = nullptr;
  std::size_t start = 0;      // in the row
  std::uint64_t element = 0;  // of the result
  std::size_t count = 0;

  bool is_number(std::size_t operand) const { return grid->strides[operand].back() == 0; }
  float number(std::size_t operand) const {
    const ChainElements& elements = operands[operand];
    if (!elements.half) return *elements.floats();
    float one = 0;
    simd().widen(*elements.half, elements.halves(), &one, 1);
    return one;
  }

  // One operand's elements of the block: in place where they lie side by side, else gathered.
  const float* values(int which, float* workspace) const {
    const auto operand = static_cast<std::size_t>(which);
    const ChainElements& elements = operands[operand];
    if (!elements.half) return side_by_side(operand, elements.floats(), workspace);
    std::uint16_t gathered[kBlock];
    simd().widen(*elements.half, side_by_side(operand, elements.halves(), gathered), workspace,
                 count);
    return workspace;
  }

 private:
  template <typename T>
  const T* side_by_side(std::size_t operand, const T* first, T* workspace) const {
    const std::int64_t stride = grid->strides[operand].back();
    if (const auto period = static_cast<std::size_t>(grid->periods[operand]); period > 0) {
      repeat(first, period, start % period, count, workspace);
      return workspace;
    }
    if (stride == 1) return first;
    for (std::size_t i = 0; i < count; ++i)
      workspace[i] = first[static_cast<std::int64_t>(i) * stride];
    return workspace;
  }
};

void run_binary(const Link& link, const Position& at, float* running, float* workspace) {
  const bool is_reversed = link.kind == Link::Kind::ReversedBinary;
  const SimdKernels& kernels = simd();
  const auto with_number = [&](float number) {
    if (is_reversed) {
      kernels.number_binary(link.binary, number, running, running, at.count);
    } else {
      kernels.binary_number(link.binary, running, number, running, at.count);
    }
  };
  if (link.operand < 0) return with_number(link.number);
  const auto operand = static_cast<std::size_t>(link.operand);
  if (at.is_number(operand)) return with_number(at.number(operand));
  const float* values = at.values(link.operand, workspace);
  kernels.binary(link.binary, is_reversed ? values : running, is_reversed ? running : values,
                 running, at.count);
}

void run_select(const Link& link, const Position& at, float* running, float* workspace,
                float* second) {
  const std::size_t count = at.count;
  const float* mask = at.values(link.operand, workspace);
  const float* other = second;
  if (link.other < 0) {
    std::fill_n(second, count, link.other_number);
  } else {
    other = at.values(link.other, second);
  }
  simd().select(mask, link.running_is_first ? running : other,
                link.running_is_first ? other : running, running, count);
}

// The rows that the numbers of a norm repeat in, if they are whole.
std::optional<NormRows> norm_rows(const Position& at, std::size_t operand) {
  if (at.grid->strides[operand].back() != 1 || at.operands[operand].half) return {};
  const auto period = static_cast<std::size_t>(at.grid->periods[operand]);
  if (period == 0) return NormRows{1, at.count, at.count};
  if (at.start % period != 0 || at.count % period != 0) return {};
  return NormRows{at.count / period, period, period};
}

void run_normalise(const Link& link, const Position& at, const float* in, float* running,
                   float* workspace) {
  const auto first = static_cast<std::size_t>(link.operand);
  if (const auto rows = norm_rows(at, first)) {
    const NormVectors norm{at.operands[first].floats(), at.operands[first + 1].floats(),
                           at.operands[first + 2].floats()};
    return simd_for(rows->width).normalise(*rows, norm, in, running);
  }
  if (in != running) simd().unary(UnaryOp::Copy, 0, 0, in, running, at.count);
  int operand = link.operand;
  for (const BinaryOp op : {BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Add}) {
    run_binary({.kind = Link::Kind::Binary, .binary = op, .operand = operand++}, at, running,
               workspace);
  }
}

void run_links(std::span<const Link> links, const Position& at, float* running, float* workspace,
               float* second) {
  const float* loaded = at.values(0, running);
  const float* in = loaded;
  for (const Link& link : links) {
    if (link.kind == Link::Kind::Unary) {
      simd().unary(link.unary, link.alpha, link.beta, in, running, at.count);
    } else if (link.kind == Link::Kind::Normalise) {
      run_normalise(link, at, in, running, workspace);
    } else if (link.kind == Link::Kind::Dropout) {
      simd().dropout(link.draw, at.element, in, running, at.count);
    } else {
      if (in != running) simd().unary(UnaryOp::Copy, 0, 0, in, running, at.count);
      if (link.kind == Link::Kind::Select) {
        run_select(link, at, running, workspace, second);
      } else {
        run_binary(link, at, running, workspace);
      }
    }
    in = running;
  }
  if (in != running) simd().unary(UnaryOp::Copy, 0, 0, in, running, at.count);
}

}  // namespace

std::int64_t ChainGrid::rows() const {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) count *= dims[i];
  return count;
}

ChainGrid merged(ChainGrid grid) {
  grid.periods.assign(grid.strides.size(), 0);
  for (std::size_t axis = grid.dims.size(); axis-- > 0 && grid.dims.size() > 1;) {
    if (grid.dims[axis] == 1) drop_axis(grid, axis);
  }
  for (std::size_t axis = grid.dims.size() - 1; axis-- > 0;) {
    if (can_merge(grid, axis)) merge_into_next(grid, axis);
  }
  return grid;
}

std::int64_t block_count(const ChainGrid& grid) {
  return grid.rows() * blocks_per_row(grid);
}

void run_chain(std::span<const Link> links, const ChainGrid& grid,
               std::span<const ChainElements> operands, const ChainElements& result,
               std::int64_t first_block, std::int64_t last_block) {
  float workspace[kBlock];
  float second[kBlock];
  float unrounded[kBlock];
  const std::int64_t per_row = blocks_per_row(grid);
  const std::int64_t width = grid.dims.back();
  Position at{.grid = &grid};
  for (std::int64_t block = first_block; block < last_block; ++block) {
    const std::int64_t row = block / per_row;
    const std::int64_t start = block % per_row * kBlock;
    at.start = static_cast<std::size_t>(start);
    at.count = static_cast<std::size_t>(std::min(kBlock, width - start));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      std::int64_t rest = row;
      std::int64_t offset = grid.periods[i] > 0 ? 0 : start * grid.strides[i].back();
      for (std::size_t axis = grid.dims.size() - 1; axis-- > 0;) {
        offset += rest % grid.dims[axis] * grid.strides[i][axis];
        rest /= grid.dims[axis];
      }
      at.operands[i] = operands[i].from(offset);
    }
    at.element = static_cast<std::uint64_t>(row * width + start);
    const ChainElements to = result.from(row * width + start);
    float* running = to.half ? unrounded : reinterpret_cast<float*>(to.first);
    run_links(links, at, running, workspace, second);
    if (to.half) {
      simd().narrow(*to.half, running, reinterpret_cast<std::uint16_t*>(to.first), at.count);
    }
  }
}

}  // namespace assay::cpu
