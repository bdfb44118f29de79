// Norms, pooling, softmax and reductions.
#include <algorithm>

#include "base/as_size.h"
#include "transform/prune/follow.h"

namespace assay::transform {

namespace {

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  return as_size(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

void follow_batch_norm(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0];
  flow.pass_all(x, node.outputs[0]);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (flow.rank(x) > 1 && flow.dims(x)[1] > 1) flow.tie(x, 1, node.inputs[i], 0);
  }
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.has_output(i)) flow.pass_axis(node.inputs[1], 0, node.outputs[i], 0);
  }
}

void follow_instance_norm(ChannelFlow& flow, const Node& node) {
  follow_batch_norm(flow, node);
  for (std::size_t axis = 2; axis < flow.rank(node.inputs[0]); ++axis)
    flow.freeze(node.inputs[0], axis, flow.because("normalises over it"));
}

void follow_layer_norm(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0];
  const std::size_t first = axis_of(node.int_or("axis", -1), flow.rank(x));
  for (std::size_t axis = first; axis < flow.rank(x); ++axis) flow.add_average(x, axis);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.has_input(i)) flow.tie_broadcast(node.inputs[i], x);
  }
  flow.pass_all(x, node.outputs[0]);
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    for (std::size_t axis = 0; axis < first && node.has_output(i); ++axis)
      flow.pass_axis(x, axis, node.outputs[i], axis);
  }
}

void follow_frozen_from(ChannelFlow& flow, const Node& node, std::size_t first, std::size_t end) {
  for (std::size_t axis = first; axis < end; ++axis)
    flow.freeze(node.inputs[0], axis, flow.because("needs all of it"));
  flow.pass_all(node.inputs[0], node.outputs[0]);
}

// Before opset 13 all axes from `axis` on are one.
void follow_softmax(ChannelFlow& flow, const Node& node) {
  const std::size_t rank = flow.rank(node.inputs[0]);
  const bool flattens = flow.opset() < 13;
  const std::size_t axis = axis_of(node.int_or("axis", flattens ? 1 : -1), rank);
  follow_frozen_from(flow, node, axis, flattens ? rank : std::min(rank, axis + 1));
}

void follow_neighbour_norm(ChannelFlow& flow, const Node& node) {
  follow_frozen_from(flow, node, 1, flow.rank(node.inputs[0]));
}

// Zeros do not change the norm of the others.
void follow_vector_norm(ChannelFlow& flow, const Node& node) {
  flow.pass_all(node.inputs[0], node.outputs[0]);
}

void follow_pooling(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0];
  for (std::size_t axis = 2; axis < flow.rank(x); ++axis)
    flow.freeze(x, axis, flow.because("has windows along it"));
  // Positions of maxima count the elements of all channels.
  if (node.has_output(1)) flow.freeze_all(x, flow.because("numbers its elements"));
  for (const std::size_t axis : {0, 1}) flow.pass_axis(x, axis, node.outputs[0], axis);
}

enum class ChannelReduction { Sum, Mean, Other };

// Nothing: they are only known at run time.
std::optional<std::vector<bool>> reduced_axes(ChannelFlow& flow, const Node& node) {
  const std::size_t rank = flow.rank(node.inputs[0]);
  std::optional<Dims> axes = node.ints_or("axes", {});
  if (node.has_input(1)) axes = flow.known_ints(1);
  if (!axes) return {};
  const bool is_idle = axes->empty() && node.int_or("noop_with_empty_axes", 0) != 0;
  std::vector<bool> is_reduced(rank, axes->empty() && !is_idle);
  for (const std::int64_t axis : *axes) is_reduced[axis_of(axis, rank)] = true;
  return is_reduced;
}

void follow_reduction(ChannelFlow& flow, const Node& node, ChannelReduction kind) {
  const ValueId x = node.inputs[0];
  const auto is_reduced = reduced_axes(flow, node);
  if (!is_reduced) return flow.freeze_all(x, flow.because("cannot be followed"));
  flow.settle_all(x);
  const bool keeps = node.int_or("keepdims", 1) != 0;
  std::size_t to = 0;
  for (std::size_t axis = 0; axis < is_reduced->size(); ++axis) {
    if (!(*is_reduced)[axis]) flow.pass_axis(x, axis, node.outputs[0], to);
    if ((*is_reduced)[axis] && kind == ChannelReduction::Mean) flow.add_average(x, axis);
    if ((*is_reduced)[axis] && kind == ChannelReduction::Other)
      flow.freeze(x, axis, flow.because("needs all of it"));
    if (!(*is_reduced)[axis] || keeps) ++to;
  }
}

void follow_sum(ChannelFlow& flow, const Node& node) {
  follow_reduction(flow, node, ChannelReduction::Sum);
}
void follow_mean(ChannelFlow& flow, const Node& node) {
  follow_reduction(flow, node, ChannelReduction::Mean);
}
void follow_other_reduction(ChannelFlow& flow, const Node& node) {
  follow_reduction(flow, node, ChannelReduction::Other);
}

}  // namespace

void add_norm_follow_rules(FollowTable& table) {
  table["BatchNormalization"] = follow_batch_norm;
  table["InstanceNormalization"] = follow_instance_norm;
  table["LayerNormalization"] = follow_layer_norm;
  table["GroupNormalization"] = follow_neighbour_norm;
  table["LRN"] = follow_neighbour_norm;
  table["LpNormalization"] = follow_vector_norm;
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) table[op] = follow_softmax;
  for (const char* op :
       {"MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}) {
    table[op] = follow_pooling;
  }
  for (const char* op : {"ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2"})
    table[op] = follow_sum;
  table["ReduceMean"] = follow_mean;
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp"})
    table[op] = follow_other_reduction;
}

}  // namespace assay::transform
