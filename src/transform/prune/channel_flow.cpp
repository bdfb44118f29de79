#include "transform/prune/channel_flow.h"

#include <algorithm>
#include <numeric>

#include "base/as_size.h"
#include "base/fail.h"
#include "graph/node_kinds.h"
#include "transform/prune/follow.h"

namespace assay::transform {

ChannelFlow::ChannelFlow(const Inferred& model)
    : model_(model),
      axes_(model.graph.value_count()),
      has_axes_(model.graph.value_count(), true),
      is_constant_(model.graph.value_count(), false) {
  for (const auto& [value, tensor] : model.graph.initializers()) {
    has_axes_[value.number] = false;
    is_constant_[value.number] = true;
  }
}

void ChannelFlow::run() {
  for (std::uint32_t i = 0; i < graph().node_count(); ++i) follow(NodeId{i});
  freeze_outputs();
  settle_what_is_left();
}

void ChannelFlow::follow(NodeId id) {
  node_ = id;
  const Node& current = node();
  const FollowRule rule = find_follow_rule(current);
  if (rule != nullptr && has_known_shapes(current)) {
    rule(*this, current);
  } else {
    for (const ValueId input : current.inputs) {
      if (input.is_valid()) freeze_all(input, because("cannot be followed"));
    }
    freeze_captures(current);
  }
  const auto is_known_constant = [&](ValueId value) {
    return !value.is_valid() || is_constant_[value.number];
  };
  const bool makes_constants =
      !graph::is_random(current) && std::ranges::all_of(current.inputs, is_known_constant);
  for (const ValueId output : current.outputs) {
    if (output.is_valid()) is_constant_[output.number] = makes_constants;
  }
}

void ChannelFlow::freeze_captures(const Node& node) {
  for_each_subgraph(node, [&](const Graph& body) {
    for (const Capture& capture : body.captures())
      freeze_all(capture.outer, because("reads it in its body"));
  });
}

void ChannelFlow::freeze_outputs() {
  for (const ValueId output : graph().outputs()) {
    freeze_all(output, fmt::format("'{}' is an output of the model", graph().value(output).name));
  }
}

bool ChannelFlow::has_dims(ValueId value) const {
  const ValueType& type = graph().value(value).type;
  return type.is_tensor() && type.has_known_shape();
}

bool ChannelFlow::has_known_shapes(const Node& node) const {
  const auto is_known = [&](ValueId value) { return !value.is_valid() || has_dims(value); };
  return std::ranges::all_of(node.inputs, is_known) && std::ranges::all_of(node.outputs, is_known);
}

Dims ChannelFlow::dims(ValueId value) const {
  return graph().value(value).type.shape->values();
}

const Tensor* ChannelFlow::known(ValueId value) const {
  if (!value.is_valid()) return nullptr;
  if (const Tensor* stored = graph().initializer(value)) return stored;
  return model_.known_value(value);
}

std::optional<Dims> ChannelFlow::known_ints(std::size_t input) const {
  const Tensor* content = node().has_input(input) ? known(node().inputs[input]) : nullptr;
  if (content == nullptr) return {};
  return content->to_int64();
}

// Any axis of a stored tensor may turn out to hold channels.
void ChannelFlow::give_fresh_channels(ValueId value) {
  if (has_axes_[value.number]) return;
  has_axes_[value.number] = true;
  const Dims& lengths = graph().initializer(value)->dims();
  for (std::size_t axis = 0; axis < lengths.size(); ++axis)
    if (lengths[axis] <= kMostPositions) label(value, axis, sets_.make(lengths[axis]));
}

const std::vector<ChannelAxes>& ChannelFlow::axes(ValueId value) {
  give_fresh_channels(value);
  return axes_[value.number];
}

ChannelAxes* ChannelFlow::find_axes(ValueId value, std::size_t axis) {
  give_fresh_channels(value);
  for (ChannelAxes& channels : axes_[value.number]) {
    if (std::ranges::find(channels.axes, axis) != channels.axes.end()) return &channels;
  }
  return nullptr;
}

std::vector<Channel> ChannelFlow::along(ValueId value, std::size_t axis) {
  ChannelAxes* channels = find_axes(value, axis);
  if (channels == nullptr) return {};
  if (channels->axes.size() > 1) settle_all(value);
  channels = find_axes(value, axis);
  return channels == nullptr ? std::vector<Channel>() : channels->channels;
}

bool ChannelFlow::is_pinned(ValueId value, std::size_t axis) const {
  return std::ranges::find(pinned_, std::pair(value, axis)) != pinned_.end();
}

namespace {

// The position along one of the axes of an element among all of them.
std::size_t place_of(const ChannelAxes& channels, std::size_t place, std::size_t element) {
  std::size_t inner = 1;
  for (std::size_t i = place + 1; i < channels.dims.size(); ++i) inner *= as_size(channels.dims[i]);
  return element / inner % as_size(channels.dims[place]);
}

}  // namespace

// Whether elements with the same position along this axis belong to one set already.
bool ChannelFlow::is_uniform(const ChannelAxes& channels, std::size_t place) const {
  std::vector<std::optional<Channel>> first(as_size(channels.dims[place]));
  for (std::size_t i = 0; i < channels.channels.size(); ++i) {
    const Channel channel = channels.channels[i];
    const Channel set = channel == kFixed ? kFixed : sets_.find(channel);
    auto& expected = first[place_of(channels, place, i)];
    if (!expected) expected = set;
    if (*expected != set) return false;
  }
  return true;
}

void ChannelFlow::settle(ChannelAxes& channels, std::size_t place) {
  std::vector<std::vector<Channel>> at(as_size(channels.dims[place]));
  for (std::size_t i = 0; i < channels.channels.size(); ++i)
    at[place_of(channels, place, i)].push_back(channels.channels[i]);
  std::vector<Channel> single;
  for (const auto& together : at) {
    unite(together);
    const auto found = std::ranges::find_if(together, [](Channel c) { return c != kFixed; });
    single.push_back(found == together.end() ? kFixed : *found);
  }
  channels = {{channels.axes[place]}, {channels.dims[place]}, std::move(single)};
}

void ChannelFlow::settle(ValueId value, std::size_t axis) {
  ChannelAxes* channels = find_axes(value, axis);
  if (channels == nullptr || channels->axes.size() == 1) return;
  settle(*channels, as_size(std::ranges::find(channels->axes, axis) - channels->axes.begin()));
}

// Along the outermost axis: of attention, the heads.
void ChannelFlow::settle_all(ValueId value) {
  for (ChannelAxes& channels : axes_[value.number]) {
    if (channels.axes.size() == 1) continue;
    std::size_t place = 0;
    while (place + 1 < channels.axes.size() && is_pinned(value, channels.axes[place])) ++place;
    settle(channels, place);
  }
}

// Nothing has asked for one of these axes: the one that leaves the most channels is taken.
void ChannelFlow::settle_what_is_left() {
  for (std::uint32_t i = 0; i < axes_.size(); ++i) {
    for (ChannelAxes& channels : axes_[i]) {
      if (channels.axes.size() == 1) continue;
      std::optional<std::size_t> best;
      bool is_free = false;
      for (std::size_t place = 0; place < channels.axes.size(); ++place) {
        if (is_pinned(ValueId{i}, channels.axes[place])) continue;
        const bool uniform = is_uniform(channels, place);
        const bool is_longer = !best || channels.dims[place] > channels.dims[*best];
        if (uniform > is_free || (uniform == is_free && is_longer)) best = place;
        is_free = is_free || uniform;
      }
      settle(channels, best.value_or(0));
    }
  }
}

void ChannelFlow::label(ValueId value, std::size_t axis, std::vector<Channel> channels) {
  if (channels.empty()) return;
  const auto length = static_cast<std::int64_t>(channels.size());
  label(value, ChannelAxes{{axis}, {length}, std::move(channels)});
}

// A single position cannot be removed.
void ChannelFlow::label(ValueId value, ChannelAxes channels) {
  const bool is_fixed =
      std::ranges::all_of(channels.channels, [](Channel c) { return c == kFixed; });
  if (channels.channels.size() > 1 && !is_fixed)
    axes_[value.number].push_back(std::move(channels));
  else
    sets_.freeze(channels.channels, "it is a single channel");
}

void ChannelFlow::label_fresh(ValueId value, std::size_t axis) {
  const std::int64_t length = dims(value)[axis];
  if (length <= kMostPositions) label(value, axis, sets_.make(length));
}

void ChannelFlow::pass_axis(ValueId from, std::size_t from_axis, ValueId to, std::size_t to_axis) {
  label(to, to_axis, along(from, from_axis));
}

void ChannelFlow::pass_all(ValueId from, ValueId to) {
  for (const ChannelAxes& channels : axes(from)) label(to, channels);
}

void ChannelFlow::tie(std::span<const Channel> a, std::span<const Channel> b) {
  const std::string why = because("combines it with an axis that cannot be pruned");
  if (a.size() != b.size()) {
    sets_.freeze(a, why);
    sets_.freeze(b, why);
    return;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != kFixed && b[i] != kFixed)
      sets_.unite(a[i], b[i]);
    else
      sets_.freeze(a[i] == kFixed ? b.subspan(i, 1) : a.subspan(i, 1), why);
  }
}

void ChannelFlow::tie(ValueId a, std::size_t a_axis, ValueId b, std::size_t b_axis) {
  const auto first = along(a, a_axis);
  tie(first, along(b, b_axis));
}

void ChannelFlow::tie_broadcast(ValueId value, ValueId to) {
  const Dims lengths = dims(value);
  const std::size_t shift = rank(to) - lengths.size();
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    if (lengths[axis] > 1) tie(value, axis, to, axis + shift);
  }
}

void ChannelFlow::unite(std::span<const Channel> channels) {
  const auto first = std::ranges::find_if(channels, [](Channel c) { return c != kFixed; });
  if (first == channels.end()) return;
  for (const Channel channel : channels) {
    if (channel != kFixed) sets_.unite(*first, channel);
  }
  if (std::ranges::find(channels, kFixed) != channels.end())
    sets_.freeze({&*first, 1}, because("combines it with positions that cannot be pruned"));
}

void ChannelFlow::freeze(ValueId value, std::size_t axis, const std::string& why) {
  if (const ChannelAxes* channels = find_axes(value, axis)) sets_.freeze(channels->channels, why);
}

void ChannelFlow::freeze_all(ValueId value, const std::string& why) {
  for (const ChannelAxes& channels : axes(value)) sets_.freeze(channels.channels, why);
}

std::string ChannelFlow::because(const std::string& why) const {
  return fmt::format("{} '{}' {}", node().op, graph().display_name(node_), why);
}

void ChannelFlow::add_source(ValueId weights, std::size_t axis) {
  if (is_constant(weights)) sources_.push_back({node_, weights, axis});
}

}  // namespace assay::transform
