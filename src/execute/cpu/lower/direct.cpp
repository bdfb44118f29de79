#include "execute/cpu/lower/direct.h"

#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

namespace {

bool is_index(const Lowering& lowering, ValueId id) {
  return lowering.type(id) == DataType::Int64 || lowering.type(id) == DataType::Int32;
}

// Numbers of whole bytes; 16-bit floats count as bits that are only moved.
bool is_movable(const Lowering& lowering, ValueId id) {
  const DataType type = lowering.type(id);
  return type != DataType::String && bits(type) % 8 == 0 && bits(type) <= 64;
}

bool is_computable(const Lowering& lowering, ValueId id) {
  switch (lowering.type(id)) {
    case DataType::Float32:
    case DataType::Float64:
    case DataType::Int8:
    case DataType::UInt8:
    case DataType::Int32:
    case DataType::Int64:
      return true;
    default:
      return false;
  }
}

bool moves_by_index(const Lowering& lowering, const Node& node) {
  return is_movable(lowering, node.inputs[0]) && is_index(lowering, node.inputs[1]);
}

bool scatters(const Lowering& lowering, const Node& node) {
  if (!moves_by_index(lowering, node)) return false;
  const std::string reduction = node.string_or("reduction", "none");
  return reduction == "none" || is_computable(lowering, node.inputs[0]);
}

bool marks_by_index(const Lowering& lowering, const Node& node) {
  return is_index(lowering, node.inputs[0]) && is_movable(lowering, node.inputs[2]);
}

bool computes(const Lowering& lowering, const Node& node) {
  return is_computable(lowering, node.inputs[0]);
}

// An axis that is not known when steps are planned would have to be checked in every run.
bool sums_along_known_axis(const Lowering& lowering, const Node& node) {
  const Tensor* axis = lowering.constant(node.inputs[1]);
  if (axis == nullptr || axis->elements() != 1 || !computes(lowering, node)) return false;
  return axis_of(axis->to_int64().front(), lowering.dims(node.inputs[0]).size()).has_value();
}

bool moves(const Lowering& lowering, const Node& node) {
  return is_movable(lowering, node.inputs[0]);
}

bool moves_whole_numbers_of_times(const Lowering& lowering, const Node& node) {
  return node.inputs.size() == 2 && moves_by_index(lowering, node);
}

bool pads(const Lowering& lowering, const Node& node) {
  return moves(lowering, node) && node.has_input(1) && is_index(lowering, node.inputs[1]) &&
         (!node.has_input(3) || is_index(lowering, node.inputs[3]));
}

bool has_k_as_input(const Lowering& lowering, const Node& node) {
  return computes(lowering, node) && node.has_input(1) && is_index(lowering, node.inputs[1]);
}

struct NamedOp {
  const char* name = nullptr;
  DirectOp op = {};
};

constexpr NamedOp kDirectOps[] = {
    {"GatherElements", {gather_elements, moves_by_index}},
    {"GatherND", {gather_tuples, moves_by_index}},
    {"ScatterElements", {scatter_elements, scatters}},
    {"Scatter", {scatter_elements, scatters}},
    {"ScatterND", {scatter_tuples, scatters}},
    {"OneHot", {one_hot, marks_by_index}},
    {"TopK", {top_k, has_k_as_input}},
    {"ArgMax", {position_of_greatest, computes}},
    {"ArgMin", {position_of_least, computes}},
    {"CumSum", {cumulative_sum, sums_along_known_axis}},
    {"ReverseSequence", {reverse_sequence, moves_by_index}},
    {"Trilu", {triangle, moves}},
    {"Tile", {tile, moves_whole_numbers_of_times}},
    {"Range", {range, computes}},
};

DirectOperand unbound(const std::optional<Placement>& placement) {
  if (!placement) return {};
  return {placement->type, placement->dims, nullptr};
}

bool is_empty(const Lowering& lowering, ValueId id) {
  return id.is_valid() && checked_product(lowering.dims(id)).value_or(0) == 0;
}

bool lower_named(Lowering& lowering, NodeId id) {
  const std::string& name = lowering.node(id).op;
  const auto found =
      std::ranges::find(kDirectOps, name, [](const NamedOp& op) { return std::string(op.name); });
  return lower_directly(lowering, id, found->op);
}

}  // namespace

bool lower_directly(Lowering& lowering, NodeId id, const DirectOp& op) {
  const Node& node = lowering.node(id);
  const auto is_nothing = [&](ValueId value) { return is_empty(lowering, value); };
  if (std::ranges::any_of(node.inputs, is_nothing) || std::ranges::any_of(node.outputs, is_nothing))
    return false;
  if (!op.takes(lowering, node)) return false;
  StepDraft draft{.nodes = {id}, .algorithm = "direct"};
  std::vector<std::optional<Placement>> inputs;
  for (const ValueId value : node.inputs) {
    inputs.push_back(value.is_valid() ? std::optional(lowering.row_major(value)) : std::nullopt);
    // Read with the plain kernel's operands, unless it is a constant.
    if (inputs.back() && lowering.constant(value) != nullptr) draft.reads.push_back(*inputs.back());
  }
  const Binder plain = reference_binder(lowering, id, draft);
  std::vector<std::optional<Placement>> outputs;
  for (const ValueId value : node.outputs)
    outputs.push_back(value.is_valid() ? std::optional(lowering.native(value)) : std::nullopt);
  DirectCall call{.node = &node, .threads = lowering.threads()};
  for (const auto& placement : inputs) call.inputs.push_back(unbound(placement));
  for (const auto& placement : outputs) call.outputs.push_back(unbound(placement));
  lowering.add_step(draft, [=, run = op.run](const Addresses& at) -> Runner {
    auto bound = std::make_shared<DirectCall>(call);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]) bound->inputs[i].bytes = at.bytes(*inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]) bound->outputs[i].bytes = at.bytes(*outputs[i]);
    return [bound, run, otherwise = plain(at)] {
      if (!run(*bound)) otherwise();
    };
  });
  return true;
}

bool lower_pad_directly(Lowering& lowering, NodeId id) {
  return lower_directly(lowering, id, {pad, pads});
}

void add_direct_lowering(LowerTable& table) {
  for (const NamedOp& op : kDirectOps) table[op.name] = lower_named;
}

}  // namespace assay::cpu
