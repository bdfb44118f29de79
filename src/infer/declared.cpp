#include "infer/declared.h"

#include "base/fail.h"

namespace assay::infer {

void substitute_symbols(Shape& shape, const std::map<std::string, std::int64_t>& symbols) {
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (!shape[axis].is_symbol()) continue;
    const auto found = symbols.find(shape[axis].symbol_name());
    if (found != symbols.end()) shape[axis] = Dim(found->second);
  }
}

namespace {

class Settler {
 public:
  Settler(const std::map<std::string, std::int64_t>& symbols, bool forget)
      : symbols_(symbols), forget_(forget) {}

  void settle(Graph& graph, int depth) const {
    if (depth > kDeepestSubgraph)
      fail_bad_input("graph '{}': subgraphs are nested more than {} deep", graph.name,
                     kDeepestSubgraph);
    std::vector<bool> is_fact(graph.value_count(), false);
    if (depth == 0) {
      for (const ValueId input : graph.inputs()) is_fact[input.number] = true;
    }
    for (const auto& initializer : graph.initializers()) is_fact[initializer.value.number] = true;
    for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
      if (!is_fact[i]) settle_value(graph.value(ValueId{i}));
    }
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      settle_subgraphs(graph.node(NodeId{i}), depth);
  }

 private:
  void settle_value(Value& value) const {
    if (!value.type.shape) return;
    if (forget_)
      value.type.shape.reset();
    else
      substitute_symbols(*value.type.shape, symbols_);
  }

  void settle_subgraphs(Node& node, int depth) const {
    for (Attribute& attribute : node.attributes) {
      if (auto* one = std::get_if<GraphPtr>(&attribute.value)) *one = settled(**one, depth);
      if (auto* many = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
        for (auto& graph : *many) graph = settled(*graph, depth);
      }
    }
  }

  GraphPtr settled(const Graph& graph, int depth) const {
    Graph copy = graph;
    settle(copy, depth + 1);
    return std::make_shared<const Graph>(std::move(copy));
  }

  const std::map<std::string, std::int64_t>& symbols_;
  bool forget_ = false;
};

}  // namespace

void settle_declared_shapes(Graph& graph, const std::map<std::string, std::int64_t>& symbols,
                            bool forget) {
  if (forget || !symbols.empty()) Settler(symbols, forget).settle(graph, 0);
}

}  // namespace assay::infer
