#include "transform/dropout.h"

#include <bit>

#include "base/fail.h"
#include "graph/seeded.h"

namespace assay {

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
  if (graph.opset() < 10 && node.has_output(1)) {
    fail_bad_input("Dropout '{}': masks are no booleans before opset 10", graph.display_name(id));
  }
  node.domain = kOwnDomain;
  node.inputs = {node.inputs[0], step};
  node.attributes = {{"ratio", ratio}, {"seed", std::bit_cast<std::int64_t>(seed)}};
  graph.opsets[std::string(kOwnDomain)] = 1;
}

}  // namespace

void turn_dropouts_on(Graph& graph, ValueId step, std::uint64_t seed) {
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    if (!graph.node(NodeId{i}).is("Dropout")) continue;
    const float ratio = ratio_of(graph, NodeId{i});
    if (ratio > 0) turn_on(graph, NodeId{i}, step, ratio, mixed_bits(mixed_bits(seed) + i));
  }
}

}  // namespace assay
