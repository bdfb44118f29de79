#include "execute/reference/value_ops.h"

namespace assay::reference {

namespace {

ValueOpTable all_value_ops() {
  ValueOpTable table;
  add_sequence_ops(table);
  add_optional_ops(table);
  add_control_flow_ops(table);
  add_scan_ops(table);
  return table;
}

}  // namespace

ValueOp find_value_op(const Node& node) {
  static const ValueOpTable table = all_value_ops();
  if (!node.is_standard()) return nullptr;
  const auto found = table.find(node.op);
  return found == table.end() ? nullptr : found->second;
}

RuntimeValue& ValueCall::input(std::size_t i) const {
  if (!has(i)) fail("input {} is missing", i);
  return inputs[i];
}

const Tensor& ValueCall::tensor(std::size_t i) const {
  const Tensor* tensor = input(i).tensor();
  if (tensor == nullptr) fail("input {} is a sequence, a tensor is needed", i);
  return *tensor;
}

RuntimeValue::Sequence& ValueCall::sequence(std::size_t i) const {
  auto* sequence = input(i).sequence();
  if (sequence == nullptr) fail("input {} is a tensor, a sequence is needed", i);
  return *sequence;
}

std::int64_t ValueCall::integer(std::size_t i) const {
  const Tensor& number = tensor(i);
  if (number.elements() != 1) fail("input {} has {} elements instead of 1", i, number.elements());
  return number.to_int64().front();
}

const Graph& ValueCall::body(std::string_view attribute) const {
  const auto* graph = node.get<GraphPtr>(attribute);
  if (graph == nullptr || *graph == nullptr) fail("has no subgraph '{}'", attribute);
  return **graph;
}

}  // namespace assay::reference
