// Ops that compute each element of their output from one element of each input.
#include <algorithm>

#include "base/as_size.h"
#include "transform/prune/follow.h"

namespace assay::transform {

namespace {

void follow_unary(ChannelFlow& flow, const Node& node) {
  for (const ValueId output : node.outputs) {
    if (output.is_valid()) flow.pass_all(node.inputs[0], output);
  }
}

// The channels of an input, by axes of the output.
ChannelAxes aligned(const ChannelFlow& flow, ValueId input, ValueId output,
                    const ChannelAxes& channels) {
  const std::size_t shift = flow.rank(output) - flow.rank(input);
  ChannelAxes result = channels;
  for (std::size_t& axis : result.axes) axis += shift;
  return result;
}

bool overlap(const ChannelAxes& a, const ChannelAxes& b) {
  return std::ranges::any_of(
      a.axes, [&](std::size_t axis) { return std::ranges::find(b.axes, axis) != b.axes.end(); });
}

// Inputs may have channels along several axes together, but then all along the same ones.
bool axes_fit(ChannelFlow& flow, const Node& node) {
  std::vector<ChannelAxes> seen;
  for (const ValueId input : node.inputs) {
    if (!input.is_valid()) continue;
    for (const ChannelAxes& channels : flow.axes(input)) {
      seen.push_back(aligned(flow, input, node.outputs[0], channels));
      for (const ChannelAxes& other : seen) {
        if (overlap(other, seen.back()) && other.axes != seen.back().axes) return false;
      }
    }
  }
  return true;
}

// An input is as long as the output along one of the axes, but has no channels there.
bool is_fixed_along(ChannelFlow& flow, ValueId input, ValueId output, const ChannelAxes& channels) {
  const std::size_t shift = flow.rank(output) - flow.rank(input);
  const Dims lengths = flow.dims(input);
  for (const std::size_t axis : channels.axes) {
    if (axis < shift || lengths[axis - shift] == 1) continue;
    const auto& own = flow.axes(input);
    const bool has_channels = std::ranges::any_of(own, [&](const ChannelAxes& one) {
      return std::ranges::find(one.axes, axis - shift) != one.axes.end();
    });
    if (!has_channels) return true;
  }
  return false;
}

std::vector<ChannelAxes> tied_inputs(ChannelFlow& flow, const Node& node) {
  std::vector<ChannelAxes> result;
  for (const ValueId input : node.inputs) {
    if (!input.is_valid()) continue;
    for (const ChannelAxes& channels : flow.axes(input)) {
      const ChannelAxes moved = aligned(flow, input, node.outputs[0], channels);
      const auto same = std::ranges::find(result, moved.axes, &ChannelAxes::axes);
      if (same == result.end())
        result.push_back(moved);
      else
        flow.tie(same->channels, moved.channels);
    }
  }
  return result;
}

void follow_broadcast(ChannelFlow& flow, const Node& node) {
  if (!axes_fit(flow, node)) {
    for (const ValueId input : node.inputs) {
      if (input.is_valid()) flow.settle_all(input);
    }
  }
  for (ChannelAxes& channels : tied_inputs(flow, node)) {
    for (const ValueId input : node.inputs) {
      if (input.is_valid() && is_fixed_along(flow, input, node.outputs[0], channels))
        flow.sets().freeze(channels.channels,
                           flow.because("combines it with an axis that cannot be pruned"));
    }
    flow.label(node.outputs[0], std::move(channels));
  }
}

void follow_nowhere(ChannelFlow&, const Node&) {}

}  // namespace

void add_elementwise_follow_rules(FollowTable& table) {
  for (const char* op :
       {"Abs",       "Acos",    "Acosh",      "Asin",      "Asinh", "Atan",
        "Atanh",     "Ceil",    "Celu",       "Clip",      "Cos",   "Cosh",
        "Elu",       "Erf",     "Exp",        "Floor",     "Gelu",  "HardSigmoid",
        "HardSwish", "IsInf",   "IsNaN",      "LeakyRelu", "Log",   "Mish",
        "Neg",       "Not",     "Reciprocal", "Relu",      "Round", "Selu",
        "Shrink",    "Sigmoid", "Sign",       "Sin",       "Sinh",  "Softplus",
        "Softsign",  "Sqrt",    "Tan",        "Tanh",      "Cast",  "ThresholdedRelu",
        "Identity",  "Dropout", "BitwiseNot"}) {
    table[op] = follow_unary;
  }
  for (const char* op :
       {"Add",         "Sub",   "Mul",   "Div",   "Mod",     "Pow",           "Min",
        "Max",         "Sum",   "Mean",  "And",   "Or",      "Xor",           "Less",
        "LessOrEqual", "Equal", "Where", "PRelu", "Greater", "GreaterOrEqual"}) {
    table[op] = follow_broadcast;
  }
  // Their results follow from what is left by themselves.
  for (const char* op : {"Shape", "Size"}) table[op] = follow_nowhere;
}

}  // namespace assay::transform
