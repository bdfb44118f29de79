#include "transform/inference_mode.h"

#include <algorithm>

#include "graph/node_kinds.h"
#include "transform/reads.h"

namespace assay::transform {

namespace {

class Switch {
 public:
  explicit Switch(const Graph& graph) : graph_(graph), is_read_(read_values(graph)) {}

  Node off(Node node) const {
    if (node.is("BatchNormalization") && graph::is_training_batch_norm(node, graph_.opset())) {
      return norm_off(std::move(node));
    }
    // Ratio and mode are inputs since opset 12; the ratio stays for whoever trains it again.
    if (node.is("Dropout") && graph_.opset() >= 12 && node.inputs.size() > 2) node.inputs.resize(2);
    return node;
  }

 private:
  Node norm_off(Node node) const {
    const auto begin = node.outputs.begin() + 1;
    const bool is_asked = std::any_of(begin, node.outputs.end(), [&](ValueId id) {
      return id.is_valid() && is_read_[id.number];
    });
    if (is_asked || node.inputs.size() != 5) return node;
    node.outputs.resize(1);
    std::erase_if(node.attributes, [](const auto& one) { return one.name == "training_mode"; });
    return node;
  }

  const Graph& graph_;
  std::vector<bool> is_read_;
};

}  // namespace

Graph in_inference_mode(const Graph& graph) {
  const Switch modes(graph);
  Graph made = graph.declarations();
  for (const auto& [value, tensor] : graph.initializers()) made.add_initializer(value, tensor);
  for (const Node& node : graph.nodes()) made.add_node(modes.off(node));
  return made;
}

}  // namespace assay::transform
