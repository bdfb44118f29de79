#include "transform/dropout.h"

#include <bit>

#include "base/fail.h"
#include "graph/seeded.h"
#include "transform/reads.h"

namespace assay::transform {

namespace {

constexpr float kUsualRatio = 0.5f;

// An attribute until opset 11, an input since then.
float ratio_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (graph.opset() < 12) return node.float_or("ratio", kUsualRatio);
  if (!node.has_input(1)) return kUsualRatio;
  const Tensor* ratio = graph.initializer(node.inputs[1]);
  if (ratio == nullptr || ratio->elements() != 1) {
    fail_bad_input("Dropout '{}': its ratio is no constant number", graph.display_name(id));
  }
  return static_cast<float>(ratio->to_double().front());
}

void turn_on(Graph& graph, NodeId id, ValueId step, float ratio, std::uint64_t seed) {
  Node& node = graph.node(id);
  node.domain = kOwnDomain;
  node.inputs = {node.inputs[0], step};
  node.attributes = {{"ratio", ratio}, {"seed", std::bit_cast<std::int64_t>(seed)}};
  graph.opsets[std::string(kOwnDomain)] = 1;
}

// Old exporters ask for a mask that nothing reads.
void check_mask(Graph& graph, NodeId id, const std::vector<bool>& is_read) {
  Node& node = graph.node(id);
  if (!node.has_output(1)) return;
  if (!is_read[node.outputs[1].number]) {
    node.outputs.resize(1);
  } else if (graph.opset() < 10) {
    fail_bad_input("Dropout '{}': masks are no booleans before opset 10", graph.display_name(id));
  }
}

}  // namespace

void turn_dropouts_on(Graph& graph, ValueId step, std::uint64_t seed) {
  const auto is_read = read_values(graph);
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    if (!graph.node(NodeId{i}).is("Dropout")) continue;
    const float ratio = ratio_of(graph, NodeId{i});
    if (ratio <= 0) continue;
    check_mask(graph, NodeId{i}, is_read);
    turn_on(graph, NodeId{i}, step, ratio, graph::mixed_bits(graph::mixed_bits(seed) + i));
  }
}

}  // namespace assay::transform
