#include "onnx_io/canonical_order.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "base/fail.h"

namespace assay::onnx {

namespace {

// Renumbers values in the order in which they are visited.
class Numbering {
 public:
  explicit Numbering(std::size_t values) : place_(values) {}

  void give(ValueId value) {
    if (!value.is_valid() || place_[value.number].is_valid()) return;
    place_[value.number] = ValueId{next_++};
    if (place_[value.number] != value) is_identity_ = false;
    order_.push_back(value);
  }
  ValueId operator()(ValueId value) const {
    return value.is_valid() ? place_[value.number] : value;
  }
  bool is_identity() const { return is_identity_; }
  const std::vector<ValueId>& order() const { return order_; }

 private:
  std::vector<ValueId> place_;
  std::vector<ValueId> order_ = {};
  std::uint32_t next_ = 0;
  bool is_identity_ = true;
};

Numbering canonical_numbering(const Graph& graph) {
  Numbering numbering(graph.value_count());
  for (const ValueId input : graph.inputs()) numbering.give(input);
  for (const auto& initializer : graph.initializers()) numbering.give(initializer.value);
  for (const auto& capture : graph.captures()) numbering.give(capture.inner);
  for (const Node& node : graph.nodes()) {
    for (const ValueId output : node.outputs) numbering.give(output);
  }
  // Undefined values come last; the verifier reports them.
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) numbering.give(ValueId{i});
  return numbering;
}

// The reader made every subgraph itself, as a Graph that is not const, and holds the only pointer.
template <typename Visit>
void for_each_own_subgraph(Node& node, Visit visit) {
  for (auto& attribute : node.attributes) {
    if (auto* one = std::get_if<GraphPtr>(&attribute.value)) {
      visit(*std::const_pointer_cast<Graph>(*one));
    }
    if (auto* many = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
      for (auto& graph : *many) visit(*std::const_pointer_cast<Graph>(graph));
    }
  }
}

Node renumbered(Node node, const Numbering& numbering) {
  for (ValueId& input : node.inputs) input = numbering(input);
  for (ValueId& output : node.outputs) output = numbering(output);
  return node;
}

// The graph with its values in their new order, taken from `graph`. `outer` is the renumbering of
// the enclosing graph, if any.
Graph rebuilt(Graph& graph, const Numbering& numbering, const Numbering* outer) {
  Graph fresh;
  fresh.name = std::move(graph.name);
  fresh.doc = std::move(graph.doc);
  fresh.info = std::move(graph.info);
  fresh.opsets = std::move(graph.opsets);
  fresh.reserve(graph.value_count(), graph.node_count());
  for (const ValueId old : numbering.order()) {
    Value& value = graph.value(old);
    fresh.add_value(std::move(value.name), std::move(value.type));
  }
  for (const ValueId input : graph.inputs()) fresh.add_input(numbering(input));
  for (const ValueId output : graph.outputs()) fresh.add_output(numbering(output));
  for (const Carried& state : graph.carried()) {
    fresh.carry({numbering(state.input), numbering(state.output)});
  }
  for (const auto& initializer : graph.initializers()) {
    fresh.add_initializer(numbering(initializer.value), initializer.tensor);
  }
  for (const auto& capture : graph.captures()) {
    const ValueId outer_value = outer != nullptr ? (*outer)(capture.outer) : capture.outer;
    fresh.add_capture({outer_value, numbering(capture.inner)});
  }
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    fresh.add_node(renumbered(std::move(graph.node(NodeId{i})), numbering));
  }
  return fresh;
}

void order_graph(Graph& graph, const Numbering* outer) {
  const Numbering numbering = canonical_numbering(graph);
  const bool outer_moved = outer != nullptr && !outer->is_identity();
  if (!numbering.is_identity() || outer_moved) graph = rebuilt(graph, numbering, outer);
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    for_each_own_subgraph(graph.node(NodeId{i}),
                          [&](Graph& subgraph) { order_graph(subgraph, &numbering); });
  }
}

// Captures bear the name of what they capture, so that a changed name reaches every level.
void make_names_unique(Graph& graph, const Graph* around) {
  for (const auto& capture : graph.captures()) {
    if (around != nullptr) graph.value(capture.inner).name = around->value(capture.outer).name;
  }
  std::unordered_set<std::string> taken;
  taken.reserve(graph.value_count());
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    std::string& name = graph.value(ValueId{i}).name;
    const std::string wanted = name;
    for (int suffix = 1; !taken.insert(name).second; ++suffix) {
      name = fmt::format("{}_{}", wanted, suffix);
    }
  }
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    for_each_own_subgraph(graph.node(NodeId{i}),
                          [&](Graph& subgraph) { make_names_unique(subgraph, &graph); });
  }
}

}  // namespace

void put_in_canonical_order(Graph& graph, bool has_inlined_names) {
  if (has_inlined_names) make_names_unique(graph, nullptr);
  order_graph(graph, nullptr);
}

}  // namespace assay::onnx
