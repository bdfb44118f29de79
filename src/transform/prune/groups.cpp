#include "transform/prune/groups.h"

#include <algorithm>
#include <map>

#include "base/as_size.h"
#include "base/fail.h"

namespace assay::transform {

namespace {

// The sets of channels along an axis, each once, in the order of positions.
std::vector<Channel> sets_along(const ChannelFlow& flow, ValueId value, std::size_t axis) {
  std::vector<Channel> found;
  std::vector<bool> is_seen(flow.sets().size(), false);
  for (const ChannelAxes& one : flow.settled(value)) {
    if (one.axes.front() != axis) continue;
    for (const Channel channel : one.channels) {
      if (channel == kFixed || is_seen[flow.sets().find(channel)]) continue;
      is_seen[flow.sets().find(channel)] = true;
      found.push_back(flow.sets().find(channel));
    }
  }
  return found;
}

std::int64_t axis_length(const ChannelFlow& flow, const ChannelSource& source) {
  return flow.dims(source.weights)[source.axis];
}

void add_layer(const ChannelFlow& flow, ChannelGroup& group, NodeId node) {
  const std::string layer = flow.graph().display_name(node);
  if (std::ranges::find(group.layers, layer) == group.layers.end()) group.layers.push_back(layer);
}

std::string reason_not_to_prune(const ChannelFlow& flow, const ChannelGroup& group) {
  for (const Channel channel : group.channels) {
    if (flow.sets().frozen(channel).empty())
      return group.channels.size() > 1 ? "" : "all its channels depend on each other";
  }
  return flow.sets().frozen(group.channels.front());
}

}  // namespace

std::vector<ChannelGroup> channel_groups(const ChannelFlow& flow) {
  std::vector<ChannelGroup> groups;
  ChannelSets layers;  // by source: sources with a channel in common
  layers.make(static_cast<std::int64_t>(flow.sources().size()));
  std::map<Channel, Channel> first_source;  // by set
  std::vector<std::vector<Channel>> along;  // by source
  for (std::size_t i = 0; i < flow.sources().size(); ++i) {
    along.push_back(sets_along(flow, flow.sources()[i].weights, flow.sources()[i].axis));
    for (const Channel set : along.back()) {
      const auto [found, is_new] = first_source.try_emplace(set, static_cast<Channel>(i));
      if (!is_new) layers.unite(found->second, static_cast<Channel>(i));
    }
  }
  std::map<Channel, std::size_t> group_of;
  for (std::size_t i = 0; i < flow.sources().size(); ++i) {
    if (along[i].empty()) continue;
    const auto [found, is_new] =
        group_of.try_emplace(layers.find(static_cast<Channel>(i)), groups.size());
    if (is_new) groups.emplace_back();
    ChannelGroup& group = groups[found->second];
    for (const Channel set : along[i]) {
      if (first_source[set] == i) group.channels.push_back(set);
    }
    group.sources.push_back(i);
    add_layer(flow, group, flow.sources()[i].node);
  }
  for (ChannelGroup& group : groups) {
    const std::size_t first = group.sources.front();
    group.name = group.layers.front();
    group.width =
        axis_length(flow, flow.sources()[first]) / static_cast<std::int64_t>(along[first].size());
    group.frozen = reason_not_to_prune(flow, group);
  }
  return groups;
}

}  // namespace assay::transform
