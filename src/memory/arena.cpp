#include "memory/arena.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

namespace assay::memory {

namespace {

constexpr int kRepairs = 100;
// From this number on, blocks are only packed by time, which takes about 0.5 µs a block.
constexpr std::size_t kManyBlocks = 20'000;

using Order = std::vector<std::uint32_t>;

// The largest entry of any range, after n·log n preparation.
class RangeMaximum {
 public:
  explicit RangeMaximum(std::span<const std::int64_t> numbers) {
    levels_.emplace_back(numbers.begin(), numbers.end());
    for (std::size_t width = 2; width <= numbers.size(); width *= 2) {
      const auto& below = levels_.back();
      std::vector<std::int64_t> level(numbers.size() - width + 1);
      for (std::size_t i = 0; i < level.size(); ++i) {
        level[i] = std::max(below[i], below[i + width / 2]);
      }
      levels_.push_back(std::move(level));
    }
  }

  std::int64_t operator()(std::size_t first, std::size_t last) const {
    const auto level = static_cast<std::size_t>(std::bit_width(last - first + 1) - 1);
    const std::size_t width = std::size_t{1} << level;
    return std::max(levels_[level][first], levels_[level][last + 1 - width]);
  }

 private:
  std::vector<std::vector<std::int64_t>> levels_;
};

// What to place first: the largest key, then the second key. Doubles suffice for a heuristic.
using Key = std::pair<double, double>;
using KeyOf = Key (*)(const Block& block, const RangeMaximum& busiest);

double lifetime(const Block& block) {
  return static_cast<double>(block.last - block.first + 1);
}

double busiest_step(const Block& block, const RangeMaximum& busiest) {
  return static_cast<double>(busiest(block.first, block.last));
}

Key by_size(const Block& block, const RangeMaximum&) {
  return {static_cast<double>(block.bytes), lifetime(block)};
}

// Blocks alive in the busiest steps are placed first.
Key by_busiest_step_and_size(const Block& block, const RangeMaximum& busiest) {
  return {busiest_step(block, busiest), static_cast<double>(block.bytes)};
}

Key by_busiest_step_and_lifetime(const Block& block, const RangeMaximum& busiest) {
  return {busiest_step(block, busiest), lifetime(block)};
}

Key by_area(const Block& block, const RangeMaximum&) {
  return {static_cast<double>(block.bytes) * lifetime(block), 0.0};
}

constexpr KeyOf kPromisingKeys[] = {by_size, by_busiest_step_and_size, by_area,
                                    by_busiest_step_and_lifetime};

// Of blocks with equal keys, the earlier one comes first.
Order falling_order(std::span<const Block> blocks, const RangeMaximum& busiest, KeyOf key_of) {
  std::vector<std::pair<Key, std::uint32_t>> keyed(blocks.size());
  for (std::uint32_t i = 0; i < blocks.size(); ++i) keyed[i] = {key_of(blocks[i], busiest), i};
  std::ranges::sort(keyed, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  Order order(blocks.size());
  std::ranges::transform(keyed, order.begin(), [](const auto& entry) { return entry.second; });
  return order;
}

std::vector<Block> reversed(std::span<const Block> blocks, std::size_t steps) {
  std::vector<Block> mirrored(blocks.begin(), blocks.end());
  for (Block& block : mirrored) {
    std::tie(block.first, block.last) = std::pair(steps - 1 - block.last, steps - 1 - block.first);
  }
  return mirrored;
}

class Search {
 public:
  Search(std::span<const Block> blocks, std::span<const std::int64_t> by_step,
         std::int64_t work_limit)
      : blocks_(blocks),
        by_step_(by_step),
        bound_(std::ranges::max(by_step)),
        work_limit_(work_limit) {}

  Packing run() {
    keep(pack_by_time(blocks_, bound_));
    if (!is_done()) keep(pack_by_time(blocks_));
    if (is_done() || blocks_.size() > kManyBlocks) return std::move(best_);
    keep(pack_by_time(reversed(blocks_, by_step_.size()), bound_));
    if (!is_done()) try_orders();
    return std::move(best_);
  }

 private:
  bool is_done() const { return best_.bytes <= bound_; }

  void keep(Packing packing) {
    if (best_.offsets.empty() || packing.bytes < best_.bytes) best_ = std::move(packing);
  }

  void try_orders() {
    const auto work = Conflicts::count(blocks_) + static_cast<std::int64_t>(blocks_.size());
    tries_left_ = work_limit_ / work;
    if (tries_left_ == 0) return;
    const Conflicts conflicts(blocks_);
    const RangeMaximum busiest(by_step_);
    std::vector<Order> orders;
    for (const KeyOf key_of : kPromisingKeys) {
      if (!may_try()) return;
      orders.push_back(falling_order(blocks_, busiest, key_of));
      try_order(conflicts, orders.back());
    }
    for (int repair = 0; repair < kRepairs; ++repair) {
      for (Order& order : orders) {
        if (!may_try()) return;
        try_order(conflicts, order);
      }
    }
  }

  bool may_try() const { return !is_done() && tries_left_ > 0; }

  // Leaves `order` changed for another try: blocks that end above the bound are placed first next
  // time ("squeaky wheel" optimisation, Joslin and Clements, 1999).
  void try_order(const Conflicts& conflicts, Order& order) {
    --tries_left_;
    Packing packing = pack_in_order(blocks_, conflicts, order);
    std::stable_partition(order.begin(), order.end(), [&](std::uint32_t block) {
      return packing.offsets[block] + blocks_[block].bytes > bound_;
    });
    keep(std::move(packing));
  }

  std::span<const Block> blocks_;
  std::span<const std::int64_t> by_step_;
  std::int64_t bound_ = 0;
  std::int64_t work_limit_ = 0;
  std::int64_t tries_left_ = 0;
  Packing best_;
};

}  // namespace

std::vector<std::int64_t> bytes_by_step(std::span<const Block> blocks, std::size_t steps) {
  std::vector<std::int64_t> bytes(steps + 1, 0);
  for (const Block& block : blocks) {
    bytes[block.first] += block.bytes;
    bytes[block.last + 1] -= block.bytes;
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  bytes.pop_back();
  return bytes;
}

Packing pack(std::span<const Block> blocks, std::span<const std::int64_t> by_step,
             std::int64_t work_limit) {
  if (blocks.empty()) return {};
  return Search(blocks, by_step, work_limit).run();
}

}  // namespace assay::memory
