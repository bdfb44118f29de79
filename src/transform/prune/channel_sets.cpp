#include "transform/prune/channel_sets.h"

#include <algorithm>
#include <numeric>

#include "base/as_size.h"

namespace assay::transform {

std::vector<Channel> ChannelSets::make(std::int64_t count) {
  std::vector<Channel> made(as_size(count));
  std::iota(made.begin(), made.end(), static_cast<Channel>(parent_.size()));
  parent_.insert(parent_.end(), made.begin(), made.end());
  reason_.resize(parent_.size());
  return made;
}

Channel ChannelSets::find(Channel channel) const {
  while (parent_[channel] != channel) {
    parent_[channel] = parent_[parent_[channel]];
    channel = parent_[channel];
  }
  return channel;
}

// The smaller number represents both, so that sets are in the order in which they were made.
void ChannelSets::unite(Channel a, Channel b) {
  const Channel first = std::min(find(a), find(b));
  const Channel second = std::max(find(a), find(b));
  if (first == second) return;
  parent_[second] = first;
  if (reason_[first] == 0) reason_[first] = reason_[second];
}

void ChannelSets::freeze(std::span<const Channel> channels, const std::string& reason) {
  const auto number = static_cast<std::uint32_t>(reasons_.size());
  bool is_used = false;
  for (const Channel channel : channels) {
    if (channel == kFixed || reason_[find(channel)] != 0) continue;
    reason_[find(channel)] = number;
    is_used = true;
  }
  if (is_used) reasons_.push_back(reason);
}

}  // namespace assay::transform
