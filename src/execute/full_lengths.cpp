#include "execute/full_lengths.h"

#include <algorithm>
#include <array>
#include <optional>

namespace assay::execute {

namespace {

// Ops whose output 0 holds numbers of input 0, perhaps fewer or in another order.
bool passes_numbers_on(const Node& node) {
  constexpr std::array<std::string_view, 10> kOps = {
      "Cast",    "Identity",  "TopK",    "Gather", "GatherElements",
      "Squeeze", "Unsqueeze", "Reshape", "Slice",  "Expand"};
  return std::ranges::any_of(kOps, [&](std::string_view op) { return node.is(op); });
}

bool is_recurrent(const Node& node) {
  return node.is("GRU") || node.is("LSTM") || node.is("RNN");
}

// The number of steps that the layer runs, where its input's shape is known.
std::optional<std::int64_t> steps_of(const Graph& graph, const Node& node) {
  const auto& shape = graph.value(node.inputs[0]).type.shape;
  if (!shape || !shape->is_known() || shape->rank() != 3) return {};
  return shape->values()[node.int_or("layout", 0) == 0 ? 0 : 1];
}

// The input whose numbers the value holds; invalid if it is computed otherwise.
ValueId source_of(const Graph& graph, ValueId value) {
  for (NodeId maker = graph.producer(value); maker.is_valid(); maker = graph.producer(value)) {
    const Node& node = graph.node(maker);
    if (!passes_numbers_on(node) || node.outputs[0] != value) return {};
    value = node.inputs[0];
  }
  return std::ranges::find(graph.inputs(), value) != graph.inputs().end() ? value : ValueId{};
}

template <typename T>
Tensor filled(const ValueType& type, std::int64_t number) {
  const std::vector<T> values(static_cast<std::size_t>(*type.shape->elements()),
                              static_cast<T>(number));
  return Tensor::of<T>(type.element, type.shape->values(), values);
}

std::optional<Tensor> lengths_of(const ValueType& type, std::int64_t steps) {
  if (!type.is_tensor() || !type.has_known_shape()) return {};
  if (type.element == DataType::Int32) return filled<std::int32_t>(type, steps);
  if (type.element == DataType::Int64) return filled<std::int64_t>(type, steps);
  return {};
}

}  // namespace

std::map<std::string, Tensor> full_lengths(const Graph& graph) {
  constexpr std::size_t kLengths = 4;  // the operand of GRU, LSTM and RNN
  std::map<ValueId, std::int64_t> fewest;
  for (const Node& node : graph.nodes()) {
    if (!is_recurrent(node) || !node.has_input(kLengths)) continue;
    const ValueId source = source_of(graph, node.inputs[kLengths]);
    const auto steps = steps_of(graph, node);
    if (!source.is_valid() || !steps) continue;
    const auto [at, is_new] = fewest.emplace(source, *steps);
    at->second = std::min(at->second, *steps);
  }
  std::map<std::string, Tensor> lengths;
  for (const auto& [input, steps] : fewest) {
    const Value& value = graph.value(input);
    if (auto tensor = lengths_of(value.type, steps)) lengths.emplace(value.name, *tensor);
  }
  return lengths;
}

}  // namespace assay::execute
