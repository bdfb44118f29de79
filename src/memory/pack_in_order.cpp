#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "memory/arena.h"

namespace assay::memory {

namespace {

// Calls `visit` with every block and the blocks after it in `by_first` that begin before it ends:
// each conflicting pair exactly once.
void for_each_range(std::span<const Block> blocks, std::span<const std::uint32_t> by_first,
                    auto visit) {
  for (std::size_t i = 0; i < by_first.size(); ++i) {
    const auto rest = by_first.subspan(i + 1);
    const auto end = std::partition_point(rest.begin(), rest.end(), [&](std::uint32_t other) {
      return blocks[other].first <= blocks[by_first[i]].last;
    });
    visit(by_first[i], rest.first(static_cast<std::size_t>(end - rest.begin())));
  }
}

// Blocks of no bytes conflict with nothing.
std::vector<std::uint32_t> filled_blocks_by_first(std::span<const Block> blocks) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(blocks[a].first, a) < std::pair(blocks[b].first, b);
  });
  return order;
}

using Stretch = std::pair<std::int64_t, std::int64_t>;  // offset, end

// The start of the smallest hole between `taken`, sorted, that holds `bytes`; else where they end.
std::int64_t smallest_hole(std::span<const Stretch> taken, std::int64_t bytes) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  std::int64_t best = -1;
  std::int64_t covered = 0;
  for (const auto& [offset, end] : taken) {
    const std::int64_t hole = offset - covered;
    if (hole >= bytes && hole < smallest) {
      smallest = hole;
      best = covered;
    }
    covered = std::max(covered, end);
  }
  return best >= 0 ? best : covered;
}

}  // namespace

std::int64_t Conflicts::count(std::span<const Block> blocks) {
  std::int64_t pairs = 0;
  for_each_range(blocks, filled_blocks_by_first(blocks), [&](std::uint32_t, auto others) {
    pairs += static_cast<std::int64_t>(others.size());
  });
  return pairs;
}

Conflicts::Conflicts(std::span<const Block> blocks) : starts_(blocks.size() + 1, 0) {
  const auto by_first = filled_blocks_by_first(blocks);
  for_each_range(blocks, by_first, [&](std::uint32_t block, auto others) {
    starts_[block + 1] += others.size();
    for (const std::uint32_t other : others) ++starts_[other + 1];
  });
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  neighbours_.resize(starts_.back());
  auto next = starts_;
  for_each_range(blocks, by_first, [&](std::uint32_t block, auto others) {
    for (const std::uint32_t other : others) {
      neighbours_[next[block]++] = other;
      neighbours_[next[other]++] = block;
    }
  });
}

Packing pack_in_order(std::span<const Block> blocks, const Conflicts& conflicts,
                      std::span<const std::uint32_t> order) {
  constexpr std::int64_t kNotPlaced = -1;
  Packing packing{.offsets = std::vector<std::int64_t>(blocks.size(), kNotPlaced)};
  std::vector<Stretch> taken;
  for (const std::uint32_t block : order) {
    taken.clear();
    for (const std::uint32_t other : conflicts.of(block)) {
      const std::int64_t offset = packing.offsets[other];
      if (offset != kNotPlaced) taken.emplace_back(offset, offset + blocks[other].bytes);
    }
    std::sort(taken.begin(), taken.end());
    packing.offsets[block] = smallest_hole(taken, blocks[block].bytes);
    packing.bytes = std::max(packing.bytes, packing.offsets[block] + blocks[block].bytes);
  }
  return packing;
}

}  // namespace assay::memory
