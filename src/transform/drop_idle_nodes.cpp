// Removes nodes that pass their input on unchanged: Identity, Dropout at inference, a Cast to the
// type a value has, a Reshape to the shape it has.
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

bool is_idle(const GraphEdit& edit, const Node& node) {
  if (!node.has_input(0) || !node.has_output(0)) return false;
  if (node.is("Identity")) return true;
  if (node.is("Cast"))
    return keeps_type(edit, node) && edit.type(node.inputs[0]).element != DataType::Undefined;
  if (node.is("Reshape") || node.is("Expand") || node.is("Flatten") || node.is("Tile")) {
    return keeps_shape(edit, node);
  }
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
