// How important each channel of a group is.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/as_size.h"
#include "base/fail.h"
#include "kernels/kernel.h"
#include "transform/prune/groups.h"

namespace assay::transform {

namespace {

// The content of a value that is computed from stored tensors alone.
Tensor constant_content(const Inferred& model, ValueId value) {
  if (const Tensor* stored = model.graph.initializer(value)) return *stored;
  if (const Tensor* known = model.known_value(value)) return *known;
  const NodeId maker = model.graph.producer(value);
  if (!maker.is_valid() || !kernels::has_kernel(model.graph.node(maker)))
    fail_bad_input("the weights '{}' cannot be computed before running",
                   model.graph.value(value).name);
  const Node& node = model.graph.node(maker);
  std::vector<Tensor> inputs;
  for (const ValueId input : node.inputs)
    inputs.push_back(input.is_valid() ? constant_content(model, input) : Tensor());
  const auto results = kernels::evaluate(node, inputs, model.graph.opset(node.domain));
  return results[as_size(std::ranges::find(node.outputs, value) - node.outputs.begin())];
}

// `visit(number, position along the axis)`, in the order of memory.
template <typename Visit>
void for_each_number(const Tensor& tensor, std::size_t axis, const Visit& visit) {
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.dims().size(); ++i) inner *= as_size(tensor.dims()[i]);
  const std::size_t length = as_size(tensor.dims()[axis]);
  const auto at = [&](std::size_t i) { return i / inner % length; };
  if (tensor.type() != DataType::Float32) {
    const auto numbers = tensor.to_double();
    for (std::size_t i = 0; i < numbers.size(); ++i) visit(numbers[i], at(i));
    return;
  }
  const auto bytes = tensor.bytes();
  for (std::size_t i = 0; i < as_size(tensor.elements()); ++i) {
    float number = 0;
    std::memcpy(&number, bytes.data() + i * sizeof(float), sizeof(float));
    visit(static_cast<double>(number), at(i));
  }
}

// The sum over everything else of |w| or w², by position along the axis.
std::vector<double> summed(const Tensor& tensor, std::size_t axis, bool squared,
                           const std::string& name) {
  std::vector<double> sums(as_size(tensor.dims()[axis]), 0.0);
  for_each_number(tensor, axis, [&](double number, std::size_t at) {
    sums[at] += squared ? number * number : std::abs(number);
  });
  for (const double sum : sums) {
    if (!std::isfinite(sum))
      fail_bad_input("'{}' has a number that is not finite: its channels cannot be ranked", name);
  }
  return sums;
}

class Ranking {
 public:
  Ranking(const Inferred& model, const ChannelFlow& flow, const ChannelGroup& group)
      : model_(model), flow_(flow), total_(group.channels.size(), 0.0) {
    for (std::size_t i = 0; i < group.channels.size(); ++i) place_[group.channels[i]] = i;
  }

  // Adds what the positions of one axis are worth; every axis counts the same.
  void add(ValueId value, std::size_t axis, const std::vector<double>& worth, bool squared) {
    std::vector<double> own(total_.size(), 0.0);
    for (const ChannelAxes& one : flow_.settled(value)) {
      if (one.axes.front() != axis) continue;
      for (std::size_t i = 0; i < one.channels.size(); ++i) {
        if (one.channels[i] == kFixed) continue;
        const auto found = place_.find(flow_.sets().find(one.channels[i]));
        if (found != place_.end()) own[found->second] += worth[i];
      }
    }
    double sum = 0;
    for (double& number : own) sum += number = squared ? std::sqrt(number) : number;
    for (std::size_t i = 0; i < own.size() && sum > 0; ++i)
      total_[i] += own[i] * static_cast<double>(own.size()) / sum;
    ++axes_;
  }

  void add_weights(ValueId value, std::size_t axis, bool squared) {
    add(value, axis,
        summed(constant_content(model_, value), axis, squared, model_.graph.value(value).name),
        squared);
  }

  std::vector<double> result() const {
    std::vector<double> mean = total_;
    for (double& number : mean) number /= std::max(axes_, 1);
    return mean;
  }
  bool is_empty() const { return axes_ == 0; }

 private:
  const Inferred& model_;
  const ChannelFlow& flow_;
  std::map<Channel, std::size_t> place_;
  std::vector<double> total_;
  int axes_ = 0;
};

bool is_activation(const Node& node) {
  static constexpr const char* kActivations[] = {
      "Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish",
      "Elu",  "Gelu", "Softplus",  "Selu",    "Mish", "HardSigmoid"};
  return node.is_standard() && std::ranges::find(kActivations, node.op) != std::end(kActivations);
}

bool carries(const ChannelFlow& flow, ValueId value, const ChannelGroup& group) {
  const std::set<Channel> wanted(group.channels.begin(), group.channels.end());
  for (const ChannelAxes& one : flow.settled(value)) {
    for (const Channel channel : one.channels) {
      if (channel != kFixed && wanted.contains(flow.sets().find(channel))) return true;
    }
  }
  return false;
}

std::vector<ValueId> batch_norm_scales(const ChannelFlow& flow, const ChannelGroup& group) {
  std::vector<ValueId> found;
  for (const Node& node : flow.graph().nodes()) {
    if (!node.is("BatchNormalization") || !flow.is_constant(node.inputs[1])) continue;
    if (carries(flow, node.inputs[1], group)) found.push_back(node.inputs[1]);
  }
  return found;
}

// Biases, norms and activations that follow a layer and are the only readers of what they read.
ValueId behind_activation(const Graph& graph, ValueId value) {
  const auto readers = consumers(graph);
  while (value.is_valid() && readers[value.number].size() == 1) {
    const Node& reader = graph.node(readers[value.number].front());
    const bool keeps_shape =
        reader.outputs[0].is_valid() && reader.inputs[0] == value &&
        graph.value(reader.outputs[0]).type.shape == graph.value(value).type.shape;
    const bool is_bias =
        reader.is("Add") && reader.has_input(1) && graph.initializer(reader.inputs[1]);
    if (!keeps_shape || !(is_bias || reader.is("BatchNormalization") || is_activation(reader)))
      break;
    value = reader.outputs[0];
  }
  return value;
}

void add_activity(Ranking& ranking, const ChannelFlow& flow, const ChannelGroup& group,
                  const ChannelActivity& activity) {
  for (const std::size_t i : group.sources) {
    const auto made = made_axis(flow, flow.sources()[i]);
    if (!made) continue;
    const std::string& name = flow.graph().value(made->value).name;
    const auto found = activity.find(name);
    if (found == activity.end() ||
        found->second.size() != as_size(flow.dims(made->value)[made->axis]))
      fail_usage("the activity of '{}' is missing: observe the values that values_to_observe names",
                 name);
    ranking.add(made->value, made->axis, found->second, false);
  }
}

}  // namespace

std::optional<MadeAxis> made_axis(const ChannelFlow& flow, const ChannelSource& source) {
  const ValueId value = behind_activation(flow.graph(), flow.graph().node(source.node).outputs[0]);
  const auto& weights = flow.settled(source.weights);
  const auto own = std::ranges::find_if(
      weights, [&](const ChannelAxes& one) { return one.axes.front() == source.axis; });
  if (own == weights.end() || !value.is_valid()) return {};
  for (const ChannelAxes& one : flow.settled(value)) {
    const bool is_same = one.channels.size() == own->channels.size() &&
                         std::ranges::equal(one.channels, own->channels, [&](Channel a, Channel b) {
                           return a == b || (a != kFixed && b != kFixed &&
                                             flow.sets().find(a) == flow.sets().find(b));
                         });
    if (is_same) return MadeAxis{value, one.axes.front()};
  }
  return {};
}

bool has_batch_norm(const ChannelFlow& flow, const ChannelGroup& group) {
  return !batch_norm_scales(flow, group).empty();
}

std::vector<double> channel_importance(const Inferred& model, const ChannelFlow& flow,
                                       const ChannelGroup& group,
                                       const ImportanceRequest& request) {
  Ranking ranking(model, flow, group);
  if (request.criterion == PruneCriterion::BatchNormScale) {
    for (const ValueId scale : batch_norm_scales(flow, group)) ranking.add_weights(scale, 0, false);
  }
  if (request.criterion == PruneCriterion::Activation)
    add_activity(ranking, flow, group, *request.activity);
  const bool squared = request.criterion == PruneCriterion::L2;
  if (ranking.is_empty()) {
    for (const std::size_t i : group.sources)
      ranking.add_weights(flow.sources()[i].weights, flow.sources()[i].axis, squared);
  }
  return ranking.result();
}

std::vector<std::string> layers_touched(const ChannelFlow& flow, const ChannelGroup& group) {
  std::vector<std::string> found;
  for (std::uint32_t i = 0; i < flow.graph().node_count(); ++i) {
    const Node& node = flow.graph().node(NodeId{i});
    const bool touches = std::ranges::any_of(node.inputs, [&](ValueId input) {
      return input.is_valid() && flow.is_constant(input) && carries(flow, input, group);
    });
    if (touches) found.push_back(flow.graph().display_name(NodeId{i}));
  }
  return found;
}

}  // namespace assay::transform
