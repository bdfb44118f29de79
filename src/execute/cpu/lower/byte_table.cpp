#include "execute/cpu/lower/byte_table.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/simd/byte_table.h"
#include "execute/threads.h"
#include "kernels/kernel.h"

namespace assay::cpu {

namespace {

Tensor all_bytes(DataType type) {
  std::vector<std::byte> bytes(256);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return Tensor(type, {256}, heap_storage(std::move(bytes)));
}

const std::set<std::string>& elementwise_ops() {
  static const std::set<std::string> ops = {"Relu",
                                            "Clip",
                                            "Sigmoid",
                                            "HardSigmoid",
                                            "HardSwish",
                                            "LeakyRelu",
                                            "Tanh",
                                            "Elu",
                                            "Gelu",
                                            "Softplus",
                                            "Softsign",
                                            "Exp",
                                            "Sqrt",
                                            "Abs",
                                            "Neg",
                                            "Erf",
                                            "Mish",
                                            "Selu",
                                            "Celu",
                                            "Add",
                                            "Sub",
                                            "Mul",
                                            "Div",
                                            "Pow",
                                            "Min",
                                            "Max",
                                            "QLinearAdd",
                                            "QLinearMul",
                                            "ThresholdedRelu",
                                            "QLinearSigmoid",
                                            "QLinearLeakyRelu"};
  return ops;
}

// A function of one 8-bit value, composed node by node.
struct TableDraft {
  ValueId source;
  Tensor inputs;   // every number that the source may be
  Tensor numbers;  // the function of each, so far
  ValueId value;
  std::vector<NodeId> nodes = {};
};

Tensor evaluated(const Lowering& lowering, const Node& node, const TableDraft& draft) {
  std::vector<Tensor> inputs;
  for (const ValueId input : node.inputs) {
    const Tensor* constant = input.is_valid() ? lowering.constant(input) : nullptr;
    inputs.push_back(input == draft.value    ? draft.numbers
                     : input == draft.source ? draft.inputs
                     : constant != nullptr   ? *constant
                                             : Tensor());
  }
  return kernels::evaluate(node, inputs, lowering.graph().opset(node.domain)).front();
}

void take(const Lowering& lowering, NodeId id, TableDraft& draft) {
  const Node& node = lowering.node(id);
  draft.numbers = evaluated(lowering, node, draft);
  draft.value = node.outputs[0];
  draft.nodes.push_back(id);
}

bool is_one_number(const Lowering& lowering, ValueId id) {
  const Tensor* constant = lowering.constant(id);
  return constant != nullptr && constant->elements() == 1;
}

// Element-wise, with no operands but the table's current value, its source and constants of one
// element: x · sigmoid(x), for example.
bool depends_on_source_alone(const Lowering& lowering, const Node& node, const TableDraft& draft) {
  if (!elementwise_ops().contains(node.op) || node.outputs.size() != 1) return false;
  const ValueId result = node.outputs[0];
  if (lowering.is_dynamic(result) || lowering.dims(result) != lowering.dims(draft.source))
    return false;
  return std::ranges::all_of(node.inputs, [&](ValueId input) {
    return !input.is_valid() || input == draft.value || input == draft.source ||
           is_one_number(lowering, input);
  });
}

bool is_conversion_by_one_scale(const Lowering& lowering, const Node& node,
                                const TableDraft& draft) {
  const bool quantizes = node.op == "QuantizeLinear" && is_8_bit(lowering, node.outputs[0]);
  const bool dequantizes = node.op == "DequantizeLinear" && lowering.is_float(node.outputs[0]);
  return (quantizes || dequantizes) && node.inputs[0] == draft.value &&
         lowering.number(node.inputs[1]);
}

// Follows the only readers; the draft ends with an 8-bit value.
void extend(const Lowering& lowering, TableDraft& draft) {
  TableDraft longest = draft;
  for (;;) {
    const NodeId next = lowering.only_reader(draft.value);
    if (!next.is_valid() || lowering.is_covered(next)) break;
    const Node& node = lowering.node(next);
    const bool fits = depends_on_source_alone(lowering, node, draft) ||
                      is_conversion_by_one_scale(lowering, node, draft);
    if (!fits || !kernels::has_kernel(node)) break;
    take(lowering, next, draft);
    if (is_8_bit(lowering, draft.value)) longest = draft;
  }
  draft = longest;
}

void add_table_step(Lowering& lowering, const TableDraft& draft) {
  const Placement source = dense_placement(lowering, draft.source);
  const Placement result =
      like(lowering, source, lowering.dims(draft.value), type_of(lowering, draft.value));
  ByteTable table;
  const auto bytes = draft.numbers.bytes();
  std::memcpy(table.data(), bytes.data(), table.size());
  const int threads = threads_for_bytes(lowering, source.elements());
  for (const NodeId node : draft.nodes) lowering.cover(node);
  StepDraft step{.nodes = draft.nodes,
                 .algorithm = "table",
                 .precision = "int8",
                 .reads = {source},
                 .writes = {result}};
  lowering.add_step(step, [=](const Addresses& at) -> Runner {
    const auto* from = reinterpret_cast<const std::uint8_t*>(at.bytes(source));
    auto* to = reinterpret_cast<std::uint8_t*>(at.bytes(result));
    const std::int64_t count = source.elements();
    return [=] {
      execute::in_parallel(threads, count, [&](std::int64_t first, std::int64_t last) {
        look_up(table.data(), from + first, to + first, static_cast<std::size_t>(last - first));
      });
    };
  });
  lowering.set_placement(draft.value, result);
}

}  // namespace

bool lower_as_byte_table(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId source = node.inputs[0];
  if (!is_8_bit(lowering, source) || lowering.constant(source) != nullptr) return false;
  const Tensor all = all_bytes(type_of(lowering, source));
  TableDraft draft{.source = source, .inputs = all, .numbers = all, .value = source};
  const bool starts = is_conversion_by_one_scale(lowering, node, draft) ||
                      depends_on_source_alone(lowering, node, draft);
  if (!starts || !kernels::has_kernel(node) || lowering.dims(source).empty()) return false;
  take(lowering, id, draft);
  extend(lowering, draft);
  if (!is_8_bit(lowering, draft.value)) return false;
  add_table_step(lowering, draft);
  return true;
}

void add_byte_table_lowering(LowerTable& table) {
  table["com.microsoft.QLinearSigmoid"] = lower_as_byte_table;
  table["com.microsoft.QLinearLeakyRelu"] = lower_as_byte_table;
}

}  // namespace assay::cpu
