#include "execution/parts.h"

namespace assay::fuzz {

ValueId Parts::add_value(const std::string& value_name, ValueType type) {
  const ValueId id{static_cast<std::uint32_t>(values.size())};
  values.push_back({value_name + "#" + std::to_string(id.number), std::move(type)});
  return id;
}

Initializer* Parts::initializer(ValueId value) {
  for (Initializer& stored : initializers) {
    if (stored.value == value) return &stored;
  }
  return nullptr;
}

Parts taken_apart(const Graph& graph) {
  Parts parts{.name = graph.name, .opsets = graph.opsets};
  parts.values.assign(graph.values().begin(), graph.values().end());
  parts.nodes.assign(graph.nodes().begin(), graph.nodes().end());
  parts.inputs.assign(graph.inputs().begin(), graph.inputs().end());
  parts.outputs.assign(graph.outputs().begin(), graph.outputs().end());
  parts.initializers.assign(graph.initializers().begin(), graph.initializers().end());
  parts.captures.assign(graph.captures().begin(), graph.captures().end());
  return parts;
}

Graph put_together(const Parts& parts) {
  Graph graph;
  graph.name = parts.name;
  graph.opsets = parts.opsets;
  for (const Value& value : parts.values) graph.add_value(value.name, value.type);
  for (const ValueId input : parts.inputs) graph.add_input(input);
  for (const Capture& capture : parts.captures) graph.add_capture(capture);
  for (const Initializer& stored : parts.initializers)
    graph.add_initializer(stored.value, stored.tensor);
  for (const Node& node : parts.nodes) graph.add_node(node);
  for (const ValueId output : parts.outputs) graph.add_output(output);
  return graph;
}

}  // namespace assay::fuzz
