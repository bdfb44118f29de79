// Structured pruning: whole channels, neurons and attention heads are removed from a model, and
// what remains is an ordinary, smaller model.
//
// A channel of one layer can only be removed together with every channel that depends on it: those
// of a residual connection's other branches, the matching filter of a depthwise convolution, the
// inputs of the layers that read it. Such sets are found by following each position of each axis
// through the graph. Layers whose channels stay or go together form a group; a group that cannot be
// pruned says why. Removing channels is the same as setting them to zero in the original model,
// except where a norm or a mean runs over them: it then runs over those that are left.
// docs/prune.md has the details.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "assay/bind.h"
#include "assay/graph.h"

namespace assay {

// What makes a channel important: the sum of the magnitudes of its weights, the root of the sum of
// their squares, the magnitude of its batch norm's scale, or the mean magnitude of its activations.
enum class PruneCriterion { L1, L2, BatchNormScale, Activation };
std::string_view name(PruneCriterion criterion);  // "l1", "l2", "batch-norm", "activation"
PruneCriterion prune_criterion_named(std::string_view name);

// Uniform: every group loses the same share of its channels. Global: the least important channels
// of the whole model go, so that some groups lose more than others.
enum class PruneRanking { Uniform, Global };
std::string_view name(PruneRanking ranking);  // "uniform", "global"
PruneRanking prune_ranking_named(std::string_view name);

// By value name: the mean magnitude of each position of its channel axis.
using ChannelActivity = std::map<std::string, std::vector<double>>;

struct PruneOptions {
  double level = 0;  // the share of channels to remove, in [0, 1)
  PruneCriterion criterion = PruneCriterion::L1;
  PruneRanking ranking = PruneRanking::Uniform;
  std::int64_t round_to = 1;  // widths become the nearest multiple of this, where there is one
  // A group has at least so many widths to choose from: narrow ones are rounded to halves,
  // quarters, … of `round_to`.
  std::int64_t least_widths = 0;
  // How many channels a group keeps, by its name, whatever level, ranking and rounding say.
  std::map<std::string, std::int64_t> keep = {};
  ChannelActivity activity = {};  // for PruneCriterion::Activation: of the values it asks for
  Bindings bindings = {};         // of inputs whose shape is open
};

struct PrunedGroup {
  std::string name;                 // of its first layer
  std::vector<std::string> layers;  // whose outputs are these channels, in execution order
  std::int64_t channels = 0;        // that can only be removed as a whole
  std::int64_t kept = 0;
  std::int64_t width = 1;   // outputs of the first layer for each channel: more than 1 for a head
  std::string frozen = {};  // why it cannot be pruned; empty where it can
};

struct PruneResult {
  Graph graph;
  std::vector<PrunedGroup> groups;  // in execution order, the frozen ones among them
  std::vector<std::string> warnings;
};

// The groups of a model, nothing removed.
std::vector<PrunedGroup> prune_groups(const Graph& model, const Bindings& bindings = {});

// Removes channels; of a group, the most important ones stay, in their order. A group of n channels
// keeps max(1, round(n·(1 - level))), rounded. Level 0 gives the model as it is. Errors name a
// level out of range, a weight that is not finite, a quantised model, a group that does not exist,
// or why nothing can be pruned.
PruneResult prune_model(const Graph& model, const PruneOptions& options = {});

// A value, and the axis along which its channels lie.
struct ObservedValue {
  std::string name;
  std::size_t axis = 0;
  std::size_t rank = 0;
};
// The values whose activity the criterion Activation wants, in execution order: what becomes of
// each layer's outputs behind its batch norm and activation.
std::vector<ObservedValue> values_to_observe(const Graph& model, const Bindings& bindings = {});

// prune_model by L1, uniformly: keep = max(1, round(n·(1 - level))) of every group, a tie to the
// even number.
Graph structured_channel_prune(const Graph& model, double level);

}  // namespace assay
