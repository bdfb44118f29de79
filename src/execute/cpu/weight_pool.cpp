#include "execute/cpu/weight_pool.h"

#include <algorithm>

#include "base/round.h"

namespace assay::cpu {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSmallestShared = std::size_t{256} << 10;
constexpr std::size_t kLargestShared = std::size_t{32} << 20;

// Weights about as large as a core's own cache fit it or not depending on which small pages they
// got, so that the latency would differ from process to process. Within a huge page they always
// fit.
std::size_t smallest_huge(OptimizeFor what) {
  return what == OptimizeFor::Memory ? kHugePage - 1 : kSmallestShared;
}

}  // namespace

std::byte* WeightPool::allocate(std::size_t bytes) {
  const std::size_t rounded = rounded_up(bytes, kLine);
  bytes_ += static_cast<std::int64_t>(rounded);
  const bool saves_memory = what_ == OptimizeFor::Memory;
  if (rounded >= (saves_memory ? kHugePage : kLargestShared)) {
    blocks_.emplace_back(rounded, "a weight");
    return blocks_.back().data();
  }
  if (rounded > left_) {
    const auto so_far = static_cast<std::size_t>(bytes_);
    const std::size_t largest = saves_memory ? kSmallestShared : kLargestShared;
    left_ = std::max(rounded, std::clamp(so_far, kSmallestShared, largest));
    if (left_ > smallest_huge(what_)) left_ = rounded_up(left_, kHugePage);
    blocks_.emplace_back(left_, "weights");
    next_ = blocks_.back().data();
  }
  std::byte* start = next_;
  next_ += rounded;
  left_ -= rounded;
  return start;
}

}  // namespace assay::cpu
