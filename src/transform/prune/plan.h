// Which channels of a model go: what groups it has, how many of each stay, and which.
#pragma once

#include <string>
#include <vector>

#include "assay/prune.h"
#include "transform/prune/cut.h"
#include "transform/prune/groups.h"

namespace assay::transform {

// A model whose channels were followed. `model` has the same values and nodes as `inferred`; its
// shapes may be open.
struct FollowedModel {
  FollowedModel(const Graph& given, const Bindings& bindings);
  FollowedModel(const FollowedModel&) = delete;  // `flow` refers to `inferred`
  FollowedModel& operator=(const FollowedModel&) = delete;

  Inferred inferred;
  Graph model;
  ChannelFlow flow;
  std::vector<ChannelGroup> groups;
};

struct PrunePlan {
  std::vector<PrunedGroup> groups;
  KeptAxes kept;
  std::vector<std::string> warnings;
};

PrunedGroup described(const ChannelGroup& group);
PrunePlan plan_pruning(const FollowedModel& followed, const PruneOptions& options);

}  // namespace assay::transform
