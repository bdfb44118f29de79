// Layers whose channels stay or go together, and how important each channel is.
#pragma once

#include <string>
#include <vector>

#include "assay/prune.h"
#include "transform/prune/channel_flow.h"

namespace assay::transform {

struct ChannelGroup {
  std::string name;
  std::vector<std::string> layers;
  std::vector<Channel> channels;     // one of each set, as ChannelSets::find gives it
  std::vector<std::size_t> sources;  // of ChannelFlow::sources()
  std::int64_t width = 1;
  std::string frozen = {};  // why none of them can be removed
};

// In execution order of their first layers.
std::vector<ChannelGroup> channel_groups(const ChannelFlow& flow);

// For each channel of a group, in its order; the mean over the group is 1, unless all are 0. Throws
// an Error that names a tensor with a number that is not finite.
struct ImportanceRequest {
  PruneCriterion criterion = PruneCriterion::L1;
  const ChannelActivity* activity = nullptr;
};
std::vector<double> channel_importance(const Inferred& model, const ChannelFlow& flow,
                                       const ChannelGroup& group, const ImportanceRequest& request);
bool has_batch_norm(const ChannelFlow& flow, const ChannelGroup& group);

// The axis of the value that these weights make, behind the norm and the activation that alone read
// it.
struct MadeAxis {
  ValueId value;
  std::size_t axis = 0;
};
std::optional<MadeAxis> made_axis(const ChannelFlow& flow, const ChannelSource& source);

// Nodes with weights that read or make channels of the group, by their display names.
std::vector<std::string> layers_touched(const ChannelFlow& flow, const ChannelGroup& group);

}  // namespace assay::transform
