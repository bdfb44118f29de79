// Recurrent layers: a hidden unit goes with its row in every gate, its column of the recurrent
// weights, its states and its outputs.
#include "base/as_size.h"
#include "transform/prune/follow.h"

namespace assay::transform {

namespace {

// An axis of several blocks, each of which has one position for every unit.
void tie_blocks(ChannelFlow& flow, ValueId value, std::size_t axis,
                const std::vector<Channel>& units) {
  const auto all = flow.along(value, axis);
  if (all.empty())
    return flow.sets().freeze(units, flow.because("has gates that cannot be pruned"));
  for (std::size_t first = 0; first + units.size() <= all.size(); first += units.size())
    flow.tie(std::span(all).subspan(first, units.size()), units);
}

void follow_recurrent(ChannelFlow& flow, const Node& node) {
  const ValueId x = node.inputs[0], weights = node.inputs[1], recurrent = node.inputs[2];
  if (flow.dims(x)[2] > 1) flow.tie(x, 2, weights, 2);
  for (const std::size_t axis : {0, 1}) flow.freeze(x, axis, flow.because("runs along it"));
  const auto units = flow.along(recurrent, 2);
  if (units.empty())
    return flow.freeze(weights, 1, flow.because("has gates that cannot be pruned"));
  tie_blocks(flow, weights, 1, units);
  tie_blocks(flow, recurrent, 1, units);
  if (node.has_input(3)) tie_blocks(flow, node.inputs[3], 1, units);
  if (node.has_input(4)) flow.freeze_all(node.inputs[4], flow.because("counts steps with it"));
  for (std::size_t i = 5; i < node.inputs.size(); ++i) {
    if (node.has_input(i)) tie_blocks(flow, node.inputs[i], i == 7 ? 1 : 2, units);
  }
  for (const ValueId output : node.outputs) {
    if (output.is_valid()) flow.label(output, flow.rank(output) - 1, units);
  }
  flow.add_source(recurrent, 2);
}

}  // namespace

void add_recurrent_follow_rules(FollowTable& table) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) table[op] = follow_recurrent;
}

}  // namespace assay::transform
