// Channels that can only be removed together.
//
// Every position of a followed axis has a channel. Channels that depend on each other are united;
// one that cannot be removed is frozen, and so are all that are united with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay::transform {

using Channel = std::uint32_t;
// A position that is never removed.
inline constexpr Channel kFixed = 0xffffffffu;

class ChannelSets {
 public:
  std::vector<Channel> make(std::int64_t count);
  std::size_t size() const { return parent_.size(); }

  Channel find(Channel channel) const;  // the same for all channels of a set
  void unite(Channel a, Channel b);
  // Fixed positions among the channels are skipped. The first reason given is kept.
  void freeze(std::span<const Channel> channels, const std::string& reason);
  // Empty if the channel can be removed.
  const std::string& frozen(Channel channel) const { return reasons_[reason_[find(channel)]]; }

 private:
  mutable std::vector<Channel> parent_;
  std::vector<std::uint32_t> reason_;  // of the set, by its find(): a position of reasons_
  std::vector<std::string> reasons_ = {""};
};

}  // namespace assay::transform
