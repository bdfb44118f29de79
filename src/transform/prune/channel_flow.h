// Follows channels through a graph: which positions of which axes of which values can only be
// removed together.
//
// Rules (follow.h) are called for one node after the other in execution order. A rule reads the
// channels of the node's inputs, unites or freezes them, and gives channels to the outputs. An axis
// without channels is fixed: nothing can be removed from it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/infer.h"
#include "transform/prune/channel_sets.h"

namespace assay::transform {

// The channels of one axis. Of several axes, where a reshape has divided one axis: then any
// position among them has a channel of its own, until an op makes clear along which axis channels
// can go.
struct ChannelAxes {
  std::vector<std::size_t> axes;  // ascending
  Dims dims;                      // their lengths
  std::vector<Channel> channels;  // row-major over these axes; kFixed where nothing can go
};

// Axes and blocks of axes with more positions are fixed: following them would take too much memory.
inline constexpr std::int64_t kMostPositions = std::int64_t{1} << 24;

// An axis of a constant along which a layer stores the weights of its outputs.
struct ChannelSource {
  NodeId node;
  ValueId weights;
  std::size_t axis = 0;
};

// A norm or a mean over channels: with fewer of them, it is over those that are left.
struct ChannelAverage {
  NodeId node;
  ValueId value;
  std::size_t axis = 0;
};

class ChannelFlow {
 public:
  explicit ChannelFlow(const Inferred& model);
  void run();

  const Graph& graph() const { return model_.graph; }
  ChannelSets& sets() { return sets_; }
  const ChannelSets& sets() const { return sets_; }
  std::span<const ChannelSource> sources() const { return sources_; }
  std::span<const ChannelAverage> averages() const { return averages_; }
  // Of a value whose axes are all settled, as those of every value are after run().
  const std::vector<ChannelAxes>& settled(ValueId value) const { return axes_[value.number]; }

  // --- For rules ---
  const Node& node() const { return graph().node(node_); }
  std::int64_t opset() const { return graph().opset(node().domain); }
  bool has_dims(ValueId value) const;
  Dims dims(ValueId value) const;
  std::size_t rank(ValueId value) const { return graph().value(value).type.shape->rank(); }
  // Content known without running; null where it is not.
  const Tensor* known(ValueId value) const;
  std::optional<Dims> known_ints(std::size_t input) const;
  bool is_constant(ValueId value) const { return is_constant_[value.number]; }

  const std::vector<ChannelAxes>& axes(ValueId value);
  // One for each position of the axis; none if the axis is fixed.
  std::vector<Channel> along(ValueId value, std::size_t axis);
  // Makes channels go along this axis, where it is one of several that have channels together.
  void settle(ValueId value, std::size_t axis);
  void settle_all(ValueId value);
  // A length that positions are picked from by number: channels go along other axes.
  void pin(ValueId value, std::size_t axis) { pinned_.push_back({value, axis}); }

  void label(ValueId value, std::size_t axis, std::vector<Channel> channels);
  void label(ValueId value, ChannelAxes channels);
  void label_fresh(ValueId value, std::size_t axis);
  void pass_axis(ValueId from, std::size_t from_axis, ValueId to, std::size_t to_axis);
  void pass_all(ValueId from, ValueId to);  // of equal shape

  // Position by position; a fixed axis freezes the other one.
  void tie(std::span<const Channel> a, std::span<const Channel> b);
  void tie(ValueId a, std::size_t a_axis, ValueId b, std::size_t b_axis);
  // Axes of `value`, aligned at the right, with those of the shape that it is broadcast to.
  void tie_broadcast(ValueId value, ValueId to);
  void unite(std::span<const Channel> channels);
  void freeze(ValueId value, std::size_t axis, const std::string& why);
  void freeze_all(ValueId value, const std::string& why);
  // "Softmax 'probabilities' needs all of it": for freeze.
  std::string because(const std::string& why) const;

  void add_source(ValueId weights, std::size_t axis);  // ignored unless they are constant
  void add_average(ValueId value, std::size_t axis) { averages_.push_back({node_, value, axis}); }

 private:
  void follow(NodeId id);
  bool has_known_shapes(const Node& node) const;
  void give_fresh_channels(ValueId value);
  void freeze_captures(const Node& node);
  bool is_pinned(ValueId value, std::size_t axis) const;
  ChannelAxes* find_axes(ValueId value, std::size_t axis);
  bool is_uniform(const ChannelAxes& channels, std::size_t place) const;
  void settle(ChannelAxes& channels, std::size_t place);
  void settle_what_is_left();
  void freeze_outputs();

  const Inferred& model_;
  ChannelSets sets_;
  std::vector<std::vector<ChannelAxes>> axes_;  // by value
  std::vector<bool> has_axes_;                  // by value: whether axes_ is complete
  std::vector<bool> is_constant_;               // by value
  std::vector<std::pair<ValueId, std::size_t>> pinned_;
  std::vector<ChannelSource> sources_;
  std::vector<ChannelAverage> averages_;
  NodeId node_;
};

}  // namespace assay::transform
