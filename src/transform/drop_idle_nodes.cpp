// Removes nodes that pass their input on unchanged: Identity, Dropout at inference, a Cast to the
// type a value has, a Reshape to the shape it has, a Pad by nothing, a Concat of one input.
#include <algorithm>

#include "transform/simplify.h"

namespace assay::transform {

namespace {

bool is_zero(const GraphEdit& edit, const Node& node, std::size_t input) {
  return node.has_input(input) && edit.number(node.inputs[input]) == 0.0;
}

// At inference, or where nothing is dropped even in training.
bool is_idle_dropout(const GraphEdit& edit, const Node& node) {
  if (!node.is("Dropout") || (node.has_output(1) && edit.readers(node.outputs[1]) > 0))
    return false;
  return !node.has_input(2) || is_zero(edit, node, 2) || is_zero(edit, node, 1);
}

bool keeps_type(const GraphEdit& edit, const Node& node) {
  return edit.type(node.inputs[0]).element == edit.type(node.outputs[0]).element;
}

bool keeps_shape(const GraphEdit& edit, const Node& node) {
  const ValueType& from = edit.type(node.inputs[0]);
  const ValueType& to = edit.type(node.outputs[0]);
  return from.has_known_shape() && to.has_known_shape() && *from.shape == *to.shape;
}

// PyTorch puts one before every average pool. Operator sets below 11 have the numbers as attribute.
bool pads_nothing(const GraphEdit& edit, const Node& node) {
  const auto is_zero = [](auto count) { return count == 0; };
  if (!node.has_input(1)) return std::ranges::all_of(node.ints_or("pads", {1}), is_zero);
  const Tensor* counts = edit.constant(node.inputs[1]);
  return counts != nullptr && std::ranges::all_of(counts->to_double(), is_zero);
}

bool is_idle(const GraphEdit& edit, const Node& node) {
  if (!node.has_input(0) || !node.has_output(0)) return false;
  if (node.is("Identity")) return true;
  if (node.is("Cast"))
    return keeps_type(edit, node) && edit.type(node.inputs[0]).element != DataType::Undefined;
  if (node.is("Reshape") || node.is("Expand") || node.is("Flatten") || node.is("Tile")) {
    return keeps_shape(edit, node);
  }
  if (node.is("Pad")) return pads_nothing(edit, node);
  if (node.is("Concat")) return node.inputs.size() == 1;
  return is_idle_dropout(edit, node);
}

}  // namespace

void drop_idle_nodes(GraphEdit& edit) {
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) {
    const NodeId id{i};
    if (!edit.is_alive(id) || !is_idle(edit, edit.node(id))) continue;
    const ValueId from = edit.node(id).outputs[0];
    if (edit.is_visible(from)) continue;
    edit.replace_value(from, edit.node(id).inputs[0]);
    edit.remove(id);
  }
}

}  // namespace assay::transform
