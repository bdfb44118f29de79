// Computes once what does not change from run to run.
#include <algorithm>

#include "base/checked.h"
#include "graph/node_kinds.h"
#include "kernels/kernel.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

// A result larger than this is left to run time: folding may not multiply a model's size.
constexpr std::int64_t kLargestFoldedBytes = std::int64_t{256} << 20;

bool has_modest_outputs(const GraphEdit& edit, const Node& node) {
  for (const ValueId output : node.outputs) {
    if (!output.is_valid()) continue;
    const ValueType& type = edit.type(output);
    if (!type.is_tensor() || !type.has_known_shape()) return false;
    const auto elements = type.shape->elements();
    const auto bytes = elements ? byte_size(type.element, *elements) : std::nullopt;
    if (!bytes || *bytes > kLargestFoldedBytes) return false;
  }
  return true;
}

bool is_foldable(const GraphEdit& edit, const Node& node) {
  if (!kernels::has_kernel(node) || graph::is_random(node) || graph::holds_subgraph(node))
    return false;
  const auto is_constant = [&](ValueId id) {
    return !id.is_valid() || edit.constant(id) != nullptr;
  };
  return std::ranges::all_of(node.inputs, is_constant) && has_modest_outputs(edit, node);
}

bool is_known(const GraphEdit& edit, const Node& node) {
  return std::ranges::all_of(
      node.outputs, [&](ValueId id) { return !id.is_valid() || edit.constant(id) != nullptr; });
}

void fold(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  std::vector<Tensor> inputs;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input.is_valid() ? *edit.constant(input) : Tensor());
  }
  const auto results = kernels::evaluate(node, inputs, edit.graph().opset(node.domain));
  for (std::size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) {
    if (node.has_output(i)) edit.set_constant(node.outputs[i], results[i]);
  }
}

}  // namespace

void fold_constants(GraphEdit& edit) {
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) {
    const NodeId id{i};
    if (!edit.is_alive(id)) continue;
    if (!is_known(edit, edit.node(id))) {
      if (!is_foldable(edit, edit.node(id))) continue;
      fold(edit, id);
    }
    if (!graph::holds_subgraph(edit.node(id)) && is_known(edit, edit.node(id))) edit.remove(id);
  }
}

}  // namespace assay::transform
