// One table from op to the rule that follows channels through it. Every family of rules is a file
// of its own and enters its ops here.
#pragma once

#include <string_view>
#include <unordered_map>

#include "transform/prune/channel_flow.h"

namespace assay::transform {

using FollowRule = void (*)(ChannelFlow&, const Node&);
using FollowTable = std::unordered_map<std::string_view, FollowRule>;

// Null for an op through which channels cannot be followed.
FollowRule find_follow_rule(const Node& node);

void add_elementwise_follow_rules(FollowTable& table);
void add_product_follow_rules(FollowTable& table);
void add_norm_follow_rules(FollowTable& table);
void add_view_follow_rules(FollowTable& table);
void add_part_follow_rules(FollowTable& table);
void add_recurrent_follow_rules(FollowTable& table);

// Several axes, whose positions are numbered row-major, under other numbers.
ChannelAxes with_axes(const ChannelAxes& channels, const std::vector<std::size_t>& new_axes);
// One position of an axis among several (`count` 1 and `drops_axis`), or a range of them.
ChannelAxes picked(const ChannelAxes& channels, std::size_t axis,
                   std::span<const std::int64_t> positions);

}  // namespace assay::transform
