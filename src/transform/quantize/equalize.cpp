#include "transform/quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "transform/quantize/plan.h"

namespace assay::transform {

namespace {

struct LayerPair {
  NodeId first;
  NodeId second;
};

class Equalizer {
 public:
  explicit Equalizer(const Graph& graph)
      : graph_(graph), readers_(consumers(graph)), is_output_(graph.value_count()) {
    for (const ValueId output : graph.outputs()) is_output_[output.number] = true;
  }

  EqualizedGraph run() && {
    std::vector<LayerPair> pairs;
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) {
      if (const auto found = pair_from(NodeId{i})) pairs.push_back(*found);
    }
    constexpr int kMostRounds = 20;
    constexpr double kSettled = 1e-3;
    for (int round = 0; round < kMostRounds; ++round) {
      double change = 0;
      for (const LayerPair& pair : pairs) change = std::max(change, equalize(pair));
      if (change < kSettled) break;
    }
    return {rebuilt(), pairs.size()};
  }

 private:
  // The only reader of a value that nobody else sees.
  NodeId only_reader_of(ValueId id) const {
    const auto& readers = readers_[id.number];
    return readers.size() == 1 && !is_output_[id.number] ? readers.front() : NodeId{};
  }

  bool is_own(ValueId id) const {
    const Tensor* tensor = graph_.initializer(id);
    return tensor != nullptr && tensor->type() == DataType::Float32 &&
           readers_[id.number].size() == 1;
  }

  bool is_plain_layer(const Node& node) const {
    const bool is_gemm = node.is("Gemm") && node.int_or("transA", 0) == 0 &&
                         node.float_or("alpha", 1) == 1.0f && node.float_or("beta", 1) == 1.0f;
    if (!node.is("Conv") && !is_gemm) return false;
    return is_own(node.inputs[1]) && (!node.has_input(2) || is_own(node.inputs[2]));
  }

  std::optional<LayerPair> pair_from(NodeId id) const {
    const Node& first = graph_.node(id);
    if (!is_plain_layer(first)) return {};
    NodeId next = only_reader_of(first.outputs[0]);
    if (next.is_valid() && graph_.node(next).is("Relu"))
      next = only_reader_of(graph_.node(next).outputs[0]);
    if (!next.is_valid()) return {};
    const Node& second = graph_.node(next);
    const bool are_alike = first.op == second.op;  // channels lie along the same axis
    if (!are_alike || !is_plain_layer(second)) return {};
    const bool has_bias_of_channels =
        !first.has_input(2) ||
        graph_.initializer(first.inputs[2])->elements() == channels_of(first);
    return has_bias_of_channels ? std::optional(LayerPair{id, next}) : std::nullopt;
  }

  std::int64_t channels_of(const Node& layer) const {
    return layer_weight(graph_, layer)->dims()[output_axis(layer)];
  }

  std::vector<float>& numbers_of(ValueId id) {
    const auto found = edited_.find(id);
    if (found != edited_.end()) return found->second;
    return edited_.emplace(id, graph_.initializer(id)->to_vector<float>()).first->second;
  }

  // Calls `visit(channel, number)` for every weight, by the layer's output or input channel.
  template <typename Visit>
  void for_each_weight(const Node& layer, bool by_output, const Visit& visit) {
    std::vector<float>& numbers = numbers_of(layer.inputs[1]);
    const auto& dims = layer_weight(graph_, layer)->dims();
    const auto rows = static_cast<std::size_t>(dims[0]);
    const auto columns = static_cast<std::size_t>(dims[1]);
    const std::size_t window = numbers.size() / rows / columns;
    const auto groups = static_cast<std::size_t>(layer.int_or("group", 1));
    const bool rows_are_outputs = output_axis(layer) == 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t row = i / window / columns;
      const std::size_t column = i / window % columns;
      const std::size_t output = rows_are_outputs ? row : column;
      const std::size_t input = layer.is("Conv") ? row / (rows / groups) * columns + column
                                                 : (rows_are_outputs ? column : row);
      visit(by_output ? output : input, numbers[i]);
    }
  }

  std::vector<double> ranges(const Node& layer, bool by_output, std::size_t channels) {
    std::vector<double> largest(channels, 0);
    for_each_weight(layer, by_output, [&](std::size_t channel, float number) {
      largest[channel] = std::max(largest[channel], std::abs(static_cast<double>(number)));
    });
    return largest;
  }

  // The largest relative change of a channel.
  double equalize(const LayerPair& pair) {
    const Node& first = graph_.node(pair.first);
    const Node& second = graph_.node(pair.second);
    const auto channels = static_cast<std::size_t>(channels_of(first));
    const auto before = ranges(first, true, channels);
    const auto after = ranges(second, false, channels);
    std::vector<float> divisors(channels, 1);
    double change = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      const bool has_both = before[c] > 0 && after[c] > 0 && std::isfinite(before[c] / after[c]);
      if (!has_both) continue;
      const double divisor = std::clamp(std::sqrt(before[c] / after[c]), 1e-4, 1e4);
      divisors[c] = static_cast<float>(divisor);
      change = std::max(change, std::abs(divisor - 1));
    }
    for_each_weight(first, true, [&](std::size_t c, float& number) { number /= divisors[c]; });
    for_each_weight(second, false, [&](std::size_t c, float& number) { number *= divisors[c]; });
    if (first.has_input(2)) {
      std::vector<float>& bias = numbers_of(first.inputs[2]);
      for (std::size_t c = 0; c < channels; ++c) bias[c] /= divisors[c];
    }
    return change;
  }

  Graph rebuilt() const {
    Graph graph = graph_.declarations();
    for (const auto& [id, tensor] : graph_.initializers()) {
      const auto found = edited_.find(id);
      graph.add_initializer(
          id, found == edited_.end() ? tensor : Tensor::of_float(tensor.dims(), found->second));
    }
    for (const Node& node : graph_.nodes()) graph.add_node(node);
    return graph;
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
  std::map<ValueId, std::vector<float>> edited_;
};

}  // namespace

EqualizedGraph equalize_layers(const Graph& graph) {
  return Equalizer(graph).run();
}

}  // namespace assay::transform
