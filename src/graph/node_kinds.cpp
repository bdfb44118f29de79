#include "graph/node_kinds.h"

#include <set>

namespace assay {

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

}  // namespace assay
