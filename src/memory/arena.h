// Packs blocks of bytes, each needed for an interval of steps, into one arena: two blocks needed at
// the same step never overlap. Finding the smallest arena is NP-hard; several orders are tried, and
// the search ends as soon as the arena is no larger than the busiest step, which none can beat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::memory {

struct Block {
  std::int64_t bytes = 0;
  std::size_t first = 0;  // step
  std::size_t last = 0;   // step, not before first
};

struct Packing {
  std::vector<std::int64_t> offsets;  // one for each block
  std::int64_t bytes = 0;             // where the last block ends
};

// The bytes needed at every step. All blocks together must be less than 2⁶² bytes.
std::vector<std::int64_t> bytes_by_step(std::span<const Block> blocks, std::size_t steps);

// What a search that does not reach the bound may cost: placing one block is about one unit for
// each block it conflicts with, and a unit is some 50 ns.
constexpr std::int64_t kThoroughSearch = 1'000'000;
constexpr std::int64_t kBriefSearch = 10'000;

// `by_step` are the blocks' own.
Packing pack(std::span<const Block> blocks, std::span<const std::int64_t> by_step,
             std::int64_t work_limit = kThoroughSearch);

// The two packing algorithms, for `pack` and for tests.
// In order of time, each block into the smallest hole that holds it: n·log n. With a capacity, the
// arena is filled from both ends, so that a chain of any sizes takes no more than its largest pair;
// it still grows where the capacity does not suffice.
Packing pack_by_time(std::span<const Block> blocks, std::int64_t capacity = 0);

// Which blocks are needed at the same time as which.
class Conflicts {
 public:
  explicit Conflicts(std::span<const Block> blocks);

  // Pairs of blocks needed at the same time, without listing them.
  static std::int64_t count(std::span<const Block> blocks);

  std::span<const std::uint32_t> of(std::uint32_t block) const {
    return std::span(neighbours_).subspan(starts_[block], starts_[block + 1] - starts_[block]);
  }

 private:
  std::vector<std::size_t> starts_;
  std::vector<std::uint32_t> neighbours_;
};

// In any given order, each block into the smallest hole that its conflicts leave.
Packing pack_in_order(std::span<const Block> blocks, const Conflicts& conflicts,
                      std::span<const std::uint32_t> order);

}  // namespace assay::memory
