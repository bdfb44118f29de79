#include "transform/quantize/prepare.h"

#include <fmt/core.h>

#include <set>

#include "transform/quantize/biased_products.h"
#include "transform/reads.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

// Of all nodes a rewritten one stands for, the one of the same op; else the first.
std::string name_by_origin(const Graph& original, const Node& node,
                           const std::vector<NodeId>& origins) {
  for (const NodeId origin : origins) {
    if (original.node(origin).op == node.op) return original.display_name(origin);
  }
  return origins.empty() ? node.name : original.display_name(origins.front());
}

// What was computed without running, stored like any other constant.
void store_known_values(Graph& graph, const std::vector<Tensor>& known) {
  const std::vector<bool> is_read = read_values(graph);
  std::vector<bool> is_input(graph.value_count(), false);
  for (const ValueId input : graph.inputs()) is_input[input.number] = true;
  for (std::uint32_t i = 0; i < graph.value_count() && i < known.size(); ++i) {
    const ValueId id{i};
    const bool has_source =
        is_input[i] || graph.producer(id).is_valid() || graph.initializer(id) != nullptr;
    if (is_read[i] && !has_source && known[i].has_value()) graph.add_initializer(id, known[i]);
  }
}

}  // namespace

Graph prepared_to_quantize(const Graph& model) {
  Inferred inferred = infer_shapes(model);
  const Graph original = inferred.graph;
  GraphEdit edit(std::move(inferred));
  drop_idle_nodes(edit);
  fold_constants(edit);
  fold_batch_norms(edit);
  drop_unread_nodes(edit);
  Rewritten rewritten = std::move(edit).finish();
  Graph graph = std::move(rewritten.model.graph);
  store_known_values(graph, rewritten.model.known);
  for (std::uint32_t i = 0; i < graph.node_count(); ++i)
    graph.node(NodeId{i}).name =
        name_by_origin(original, graph.node(NodeId{i}), rewritten.origins[i]);
  return with_biased_products(graph);
}

std::optional<std::string> why_already_quantized(const Graph& model) {
  static const std::set<std::string, std::less<>> kQuantized = {
      "QuantizeLinear", "QLinearConv",           "QLinearMatMul",         "QGemm",
      "MatMulInteger",  "ConvInteger",           "DynamicQuantizeLinear", "MatMulNBits",
      "QAttention",     "DynamicQuantizeMatMul", "DynamicQuantizeLSTM",   "MatMulIntegerToFloat"};
  for (std::uint32_t i = 0; i < model.node_count(); ++i) {
    const Node& node = model.node(NodeId{i});
    if (kQuantized.contains(node.op))
      return fmt::format("it has {} '{}'", node.op, model.display_name(NodeId{i}));
  }
  return {};
}

}  // namespace assay::transform
