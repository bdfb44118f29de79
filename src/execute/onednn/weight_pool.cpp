#include "execute/onednn/weight_pool.h"

namespace assay::onednn {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSharedBlock = std::size_t{256} << 10;

}  // namespace

std::byte* WeightPool::allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kLine - 1) / kLine * kLine;
  bytes_ += static_cast<std::int64_t>(rounded);
  if (rounded >= kSharedBlock / 2) {
    blocks_.emplace_back(rounded, "a weight");
    return blocks_.back().data();
  }
  if (rounded > left_) {
    blocks_.emplace_back(kSharedBlock, "weights");
    next_ = blocks_.back().data();
    left_ = kSharedBlock;
  }
  std::byte* start = next_;
  next_ += rounded;
  left_ -= rounded;
  return start;
}

}  // namespace assay::onednn
