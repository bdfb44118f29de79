// A chain of element-wise ops run in one pass: a block of elements goes through all of them while
// it is in the cache nearest to the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

constexpr std::size_t kMostOperands = 8;

// What one link does to the running block. Operands are numbered; -1 means a constant number.
struct Link {
  enum class Kind { Unary, Binary, ReversedBinary, Select, Normalise, Dropout };
  Kind kind = Kind::Unary;
  UnaryOp unary = UnaryOp::Copy;
  BinaryOp binary = BinaryOp::Add;
  float alpha = 0;
  float beta = 0;
  int operand = -1;  // of Normalise: the mean; the factor and the shift are the next two
  float number = 0;
  // Of Select: running = mask ≠ 0 ? first : second, where one of them is the running block.
  int other = -1;
  float other_number = 0;
  bool running_is_first = true;
  DropoutDraw draw = {};
};

// The elements as a grid; the last axis is walked in blocks. Strides of 0 repeat an element.
struct ChainGrid {
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::int64_t>> strides;  // by operand
  // By operand: how many elements the last axis repeats; 0 where it does not.
  std::vector<std::int64_t> periods = {};
  std::int64_t rows() const;
};

// Merges neighbouring axes wherever every operand allows it. Short rows beside which an operand
// stays the same become one long row along which it repeats.
ChainGrid merged(ChainGrid grid);

// Elements in memory: floats, or numbers of 16 bits that are widened on the way in and rounded on
// the way out.
struct ChainElements {
  std::byte* first = nullptr;
  std::optional<HalfFormat> half = {};  // nothing: floats

  const float* floats() const { return reinterpret_cast<const float*>(first); }
  const std::uint16_t* halves() const { return reinterpret_cast<const std::uint16_t*>(first); }
  ChainElements from(std::int64_t element) const {
    return {first + element * (half ? 2 : 4), half};
  }
};

// Blocks first..last; `result` is contiguous. Operand 0 is loaded first, and may be the result.
void run_chain(std::span<const Link> links, const ChainGrid& grid,
               std::span<const ChainElements> operands, const ChainElements& result,
               std::int64_t first_block, std::int64_t last_block);
// How many blocks there are to share out among threads.
std::int64_t block_count(const ChainGrid& grid);

}  // namespace assay::cpu
