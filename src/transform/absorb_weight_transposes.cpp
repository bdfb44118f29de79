// A product with a transposed weight reads the weight as it is stored: MatMul(x, Transpose(W))
// becomes a FusedMatMul with transB, and no transposed copy of W is ever made.
#include "transform/simplify.h"

namespace assay::transform {

namespace {

bool is_matrix_transpose(const Node& node) {
  const auto order = node.ints_or("perm", {1, 0});
  return order == std::vector<std::int64_t>{1, 0};
}

void absorb_transpose(GraphEdit& edit, NodeId id) {
  Node product = edit.node(id);
  if (!product.is("MatMul") || !product.has_input(0) || !product.has_input(1)) return;
  const Node* transpose = edit.maker(product.inputs[1]);
  if (transpose == nullptr || !transpose->is("Transpose") || !is_matrix_transpose(*transpose))
    return;
  const Tensor* weight = edit.constant(transpose->inputs[0]);
  if (weight == nullptr || weight->dims().size() != 2) return;
  if (weight->type() != DataType::Float32) return;
  product.inputs[1] = transpose->inputs[0];
  product.op = "FusedMatMul";
  product.domain = "com.microsoft";
  product.set("transB", std::int64_t{1});
  edit.set_node(id, std::move(product));
}

}  // namespace

void absorb_weight_transposes(GraphEdit& edit) {
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) {
    if (edit.is_alive(NodeId{i})) absorb_transpose(edit, NodeId{i});
  }
  drop_unread_nodes(edit);
}

}  // namespace assay::transform
