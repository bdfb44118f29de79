#include "transform/reads.h"

#include <algorithm>

namespace assay::transform {

std::vector<bool> read_values(const Graph& graph) {
  std::vector<bool> is_read(graph.value_count(), false);
  const auto mark = [&](ValueId id) {
    if (id.is_valid()) is_read[id.number] = true;
  };
  std::ranges::for_each(graph.outputs(), mark);
  for (const Node& node : graph.nodes()) {
    std::ranges::for_each(node.inputs, mark);
    for_each_subgraph(node, [&](const Graph& body) {
      for (const Capture& capture : body.captures()) mark(capture.outer);
    });
  }
  return is_read;
}

}  // namespace assay::transform
