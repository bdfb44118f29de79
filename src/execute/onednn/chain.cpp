#include "execute/onednn/chain.h"

#include <algorithm>
#include <array>

namespace assay::onednn {

namespace {

constexpr std::int64_t kBlock = 1024;  // 4 KiB: several operands fit the first cache

bool can_merge(const ChainGrid& grid, std::size_t axis) {
  const std::int64_t inner = grid.dims[axis + 1];
  return std::ranges::all_of(grid.strides, [&](const auto& strides) {
    return strides[axis] == strides[axis + 1] * inner;
  });
}

void drop_axis(ChainGrid& grid, std::size_t axis) {
  grid.dims.erase(grid.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  for (auto& strides : grid.strides)
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
}

std::int64_t blocks_per_row(const ChainGrid& grid) {
  return (grid.dims.back() + kBlock - 1) / kBlock;
}

// One operand's elements of a block: in place where they lie side by side, else gathered.
class Block {
 public:
  Block(const float* start, std::int64_t stride, std::size_t count, float* room)
      : start_(start), stride_(stride), count_(count), room_(room) {}

  bool is_number() const { return stride_ == 0; }
  float number() const { return *start_; }
  const float* values() {
    if (stride_ == 1) return start_;
    for (std::size_t i = 0; i < count_; ++i)
      room_[i] = start_[static_cast<std::int64_t>(i) * stride_];
    return room_;
  }

 private:
  const float* start_ = nullptr;
  std::int64_t stride_ = 0;
  std::size_t count_ = 0;
  float* room_ = nullptr;
};

// Where the operands of a block start.
struct Position {
  std::array<const float*, kMostOperands> operands = {};
  const ChainGrid* grid = nullptr;
  std::size_t count = 0;

  Block operand(int which, float* room) const {
    const auto index = static_cast<std::size_t>(which);
    return Block(operands[index], grid->strides[index].back(), count, room);
  }
};

void run_binary(const Link& link, const Position& at, float* running, float* room) {
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
  Block block = at.operand(link.operand, room);
  if (block.is_number()) return with_number(block.number());
  const float* values = block.values();
  kernels.binary(link.binary, is_reversed ? values : running, is_reversed ? running : values,
                 running, at.count);
}

void run_select(const Link& link, const Position& at, float* running, float* room, float* second) {
  const std::size_t count = at.count;
  const float* mask = at.operand(link.operand, room).values();
  const float* other = second;
  if (link.other < 0) {
    std::fill_n(second, count, link.other_number);
  } else {
    other = at.operand(link.other, second).values();
  }
  simd().select(mask, link.running_is_first ? running : other,
                link.running_is_first ? other : running, running, count);
}

void run_links(const std::vector<Link>& links, const Position& at, float* running, float* room,
               float* second) {
  const float* loaded = at.operand(0, running).values();
  const float* in = loaded;
  for (const Link& link : links) {
    if (link.kind == Link::Kind::Unary) {
      simd().unary(link.unary, link.alpha, link.beta, in, running, at.count);
    } else {
      if (in != running) simd().unary(UnaryOp::Copy, 0, 0, in, running, at.count);
      if (link.kind == Link::Kind::Select) {
        run_select(link, at, running, room, second);
      } else {
        run_binary(link, at, running, room);
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
  for (std::size_t axis = grid.dims.size(); axis-- > 0 && grid.dims.size() > 1;) {
    if (grid.dims[axis] == 1) drop_axis(grid, axis);
  }
  for (std::size_t axis = grid.dims.size() - 1; axis-- > 0;) {
    if (!can_merge(grid, axis)) continue;
    grid.dims[axis + 1] *= grid.dims[axis];
    drop_axis(grid, axis);
  }
  return grid;
}

std::int64_t block_count(const ChainGrid& grid) {
  return grid.rows() * blocks_per_row(grid);
}

void run_chain(const std::vector<Link>& links, const ChainGrid& grid,
               std::span<const float* const> operands, float* result, std::int64_t first_block,
               std::int64_t last_block) {
  float room[kBlock];
  float second[kBlock];
  const std::int64_t per_row = blocks_per_row(grid);
  const std::int64_t width = grid.dims.back();
  Position at{.grid = &grid};
  for (std::int64_t block = first_block; block < last_block; ++block) {
    const std::int64_t row = block / per_row;
    const std::int64_t start = block % per_row * kBlock;
    at.count = static_cast<std::size_t>(std::min(kBlock, width - start));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      std::int64_t rest = row;
      std::int64_t offset = start * grid.strides[i].back();
      for (std::size_t axis = grid.dims.size() - 1; axis-- > 0;) {
        offset += rest % grid.dims[axis] * grid.strides[i][axis];
        rest /= grid.dims[axis];
      }
      at.operands[i] = operands[i] + offset;
    }
    run_links(links, at, result + row * width + start, room, second);
  }
}

}  // namespace assay::onednn
