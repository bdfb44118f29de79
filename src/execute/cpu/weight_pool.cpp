#include "execute/cpu/weight_pool.h"

#include <algorithm>

#include "base/round.h"

namespace assay::cpu {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSmallestShared = std::size_t{256} << 10;
constexpr std::size_t kLargestShared = std::size_t{8} << 20;

}  // namespace

std::byte* WeightPool::allocate(std::size_t bytes) {
  const std::size_t rounded = rounded_up(bytes, kLine);
  bytes_ += static_cast<std::int64_t>(rounded);
  if (rounded >= kHugePage) {
    blocks_.emplace_back(rounded, "a weight");
    return blocks_.back().data();
  }
  if (rounded > left_) {
    const auto so_far = static_cast<std::size_t>(bytes_);
    const std::size_t largest = what_ == OptimizeFor::Memory ? kSmallestShared : kLargestShared;
    left_ = std::max(rounded, std::clamp(so_far, kSmallestShared, largest));
    blocks_.emplace_back(left_, "weights");
    next_ = blocks_.back().data();
  }
  std::byte* start = next_;
  next_ += rounded;
  left_ -= rounded;
  return start;
}

}  // namespace assay::cpu
