#include "graph/node_kinds.h"

#include <set>

namespace assay::graph {

bool holds_subgraph(const Node& node) {
  bool found = false;
  for_each_subgraph(node, [&](const Graph&) { found = true; });
  return found;
}

bool is_random(const Node& node) {
  static const std::set<std::string_view> names = {
      "Bernoulli",        "Dropout",       "Multinomial",      "RandomNormal",
      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  return !node.is_standard() || names.contains(node.op);
}

// Before opset 14, a batch norm that outputs its statistics is in training mode.
bool is_training_batch_norm(const Node& node, std::int64_t opset) {
  if (opset >= 14) return node.int_or("training_mode", 0) != 0;
  return node.has_output(1) && node.int_or("is_test", 0) == 0;
}

}  // namespace assay::graph
