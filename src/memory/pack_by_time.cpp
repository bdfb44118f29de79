#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "memory/arena.h"

namespace assay::memory {

namespace {

// The holes of an arena that grows at its end when none is large enough.
class Holes {
 public:
  explicit Holes(std::int64_t capacity) : fills_from_both_ends_(capacity > 0), end_(capacity) {
    if (capacity > 0) insert(0, capacity);
  }

  std::int64_t take(std::int64_t bytes) {
    const auto fitting = by_size_.lower_bound({bytes, 0});
    if (fitting == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *fitting;
    erase(by_offset_.find(offset));
    if (fills_from_both_ends_ && offset > 0 && offset + size == end_) {
      if (size > bytes) insert(offset, size - bytes);
      return end_ - bytes;
    }
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(std::int64_t offset, std::int64_t bytes) {
    const auto next = by_offset_.find(offset + bytes);
    if (next != by_offset_.end()) {
      bytes += next->second;
      erase(next);
    }
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        erase(before);
      }
    }
    insert(offset, bytes);
  }

 private:
  using ByOffset = std::map<std::int64_t, std::int64_t>;

  // A hole at the end is too small, yet what is missing can be added behind it.
  std::int64_t grow(std::int64_t bytes) {
    std::int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto last = std::prev(by_offset_.end());
      if (last->first + last->second == end_) {
        offset = last->first;
        erase(last);
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  void insert(std::int64_t offset, std::int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }

  void erase(ByOffset::iterator hole) {
    by_size_.erase({hole->second, hole->first});
    by_offset_.erase(hole);
  }

  ByOffset by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  bool fills_from_both_ends_ = false;
  std::int64_t end_ = 0;
};

// The numbers of all blocks by rising step, sorted by counting; of equals the lower one first.
std::vector<std::uint32_t> sorted_by(std::span<const Block> blocks, std::size_t Block::*step) {
  std::size_t steps = 0;
  for (const Block& block : blocks) steps = std::max(steps, block.*step + 1);
  std::vector<std::size_t> starts(steps + 1, 0);
  for (const Block& block : blocks) ++starts[block.*step + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::uint32_t> order(blocks.size());
  for (std::uint32_t i = 0; i < blocks.size(); ++i) order[starts[blocks[i].*step]++] = i;
  return order;
}

// Of blocks that begin together the largest is placed first.
void put_larger_first(std::span<const Block> blocks, std::vector<std::uint32_t>& by_first) {
  for (auto from = by_first.begin(); from != by_first.end();) {
    const auto to = std::find_if(from, by_first.end(), [&](std::uint32_t other) {
      return blocks[other].first != blocks[*from].first;
    });
    std::stable_sort(from, to, [&](std::uint32_t a, std::uint32_t b) {
      return blocks[a].bytes > blocks[b].bytes;
    });
    from = to;
  }
}

}  // namespace

Packing pack_by_time(std::span<const Block> blocks, std::int64_t capacity) {
  auto by_first = sorted_by(blocks, &Block::first);
  put_larger_first(blocks, by_first);
  const auto by_last = sorted_by(blocks, &Block::last);
  Packing packing{.offsets = std::vector<std::int64_t>(blocks.size(), 0)};
  Holes holes(capacity);
  auto ending = by_last.begin();
  for (const std::uint32_t block : by_first) {
    for (; blocks[*ending].last < blocks[block].first; ++ending) {
      const std::int64_t bytes = blocks[*ending].bytes;
      if (bytes > 0) holes.give_back(packing.offsets[*ending], bytes);
    }
    if (blocks[block].bytes == 0) continue;
    packing.offsets[block] = holes.take(blocks[block].bytes);
    packing.bytes = std::max(packing.bytes, packing.offsets[block] + blocks[block].bytes);
  }
  return packing;
}

}  // namespace assay::memory
