#include "transform/late_products.h"

#include <algorithm>

namespace assay::transform {

namespace {

// How often a value is read; a subgraph or being an output counts as more than once.
std::vector<std::size_t> reader_counts(const Graph& graph) {
  std::vector<std::size_t> counts(graph.value_count(), 0);
  const auto add = [&](ValueId id, std::size_t count) {
    if (id.is_valid()) counts[id.number] += count;
  };
  for (const ValueId output : graph.outputs()) add(output, 2);
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : node.inputs) add(input, 1);
    for_each_subgraph(node, [&](const Graph& body) {
      for (const Capture& capture : body.captures()) add(capture.outer, 2);
    });
  }
  return counts;
}

class LateProducts {
 public:
  explicit LateProducts(const Graph& graph) : graph_(graph), readers_(reader_counts(graph)) {}

  std::vector<NodeId> order() && {
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) {
      if (!is_late(NodeId{i})) place(NodeId{i});
    }
    return std::move(order_);
  }

 private:
  bool is_late(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!node.is_standard() || node.outputs.size() != 1 || !node.has_output(0)) return false;
    if (readers_[node.outputs[0].number] != 1) return false;
    if (node.op == "ConvInteger" || node.op == "MatMulInteger") return true;
    if (node.op != "Add" && node.op != "Cast") return false;
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
      const NodeId maker = input.is_valid() ? graph_.producer(input) : NodeId{};
      return maker.is_valid() && is_late(maker);
    });
  }

  void place(NodeId id) {
    for (const ValueId input : graph_.node(id).inputs) {
      const NodeId maker = input.is_valid() ? graph_.producer(input) : NodeId{};
      if (maker.is_valid() && is_late(maker)) place(maker);
    }
    order_.push_back(id);
  }

  const Graph& graph_;
  std::vector<std::size_t> readers_;
  std::vector<NodeId> order_;
};

}  // namespace

std::vector<NodeId> order_with_late_products(const Graph& graph) {
  return LateProducts(graph).order();
}

}  // namespace assay::transform
