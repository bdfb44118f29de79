// Element-wise ops on numbers of any type: comparisons, logic, integers, and what no chain takes.
#include <algorithm>
#include <atomic>
#include <limits>

#include "base/checked.h"
#include "base/fail.h"
#include "execute/cpu/kernels/direct_types.h"
#include "execute/cpu/kernels/typed.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

struct TypedDraft {
  TypedWork work = {};
  bool gives_truths = false;
  std::vector<Placement> operands = {};
  std::vector<NodeId> nodes = {};
  ValueId result;
};

bool has_type(const Lowering& lowering, ValueId id, DataType type) {
  return id.is_valid() && lowering.type(id) == type;
}

bool is_available(const Lowering& lowering, ValueId id) {
  return id.is_valid() && lowering.is_available(id);
}

// Attributes, with the defaults of the operator sets that we read.
std::array<float, 2> numbers_of(const Node& node) {
  if (node.op == "Selu")
    return {node.float_or("alpha", 1.67326319217681884765625f),
            node.float_or("gamma", 1.05070102214813232421875f)};
  return {node.float_or("alpha", 1.0f), 0};
}

TypedOp op_of(const Lowering& lowering, const Node& node) {
  const DataType type = lowering.type(node.inputs[node.op == "Where" ? 1 : 0]);
  if (node.op == "Clip") return typed_clip(type);
  if (node.op == "Where") return typed_where(type);
  if (node.inputs.size() == 1) return typed_unary(node.op, type);
  const bool keeps_sign = node.op == "Mod" && node.int_or("fmod", 0) != 0;
  return typed_binary(keeps_sign ? "Remainder" : node.op, type);
}

// The types of the operands, as the op's function reads them.
bool have_types(const Lowering& lowering, const Node& node) {
  const bool is_choice = node.op == "Where";
  const DataType type = lowering.type(node.inputs[is_choice ? 1 : 0]);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_mask = is_choice && i == 0;
    if (node.has_input(i) && !has_type(lowering, node.inputs[i], is_mask ? DataType::Bool : type))
      return false;
  }
  return true;
}

// A bound that the op leaves out is the largest or least number of its type.
template <typename T>
Tensor bound(DataType type, bool is_low) {
  using Limits = std::numeric_limits<T>;
  constexpr bool kIsReal = std::is_floating_point_v<T>;
  const T number = is_low ? (kIsReal ? -Limits::infinity() : Limits::lowest())
                          : (kIsReal ? Limits::infinity() : Limits::max());
  return Tensor::of<T>(type, {}, std::span(&number, 1));
}

Placement missing_bound(Lowering& lowering, DataType type, bool is_low) {
  Tensor tensor;
  with_computed_type(type, [&](auto zero) { tensor = bound<decltype(zero)>(type, is_low); });
  return lowering.weights().stored(tensor);
}

std::vector<Placement> placed_operands(Lowering& lowering, const Node& node) {
  std::vector<Placement> operands;
  for (const ValueId input : node.inputs)
    operands.push_back(input.is_valid() ? lowering.strided(input) : Placement{});
  if (node.op != "Clip") return operands;
  operands.resize(3);
  for (const std::size_t i : {1u, 2u}) {
    if (!node.has_input(i))
      operands[i] = missing_bound(lowering, lowering.type(node.inputs[0]), i == 1);
  }
  return operands;
}

// Bounds that are attributes belong to floats, which chains clip.
bool has_typed_form(const Lowering& lowering, const Node& node) {
  const std::size_t most = node.op == "Clip" || node.op == "Where" ? 3 : 2;
  if (node.inputs.empty() || node.inputs.size() > most) return false;
  if (node.find("axis") != nullptr || node.find("min") != nullptr || node.find("max") != nullptr)
    return false;
  if (node.op == "Celu" && node.float_or("alpha", 1.0f) == 0) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool may_miss = node.op == "Clip" && i > 0;
    if (node.has_input(i) ? !is_available(lowering, node.inputs[i]) : !may_miss) return false;
    if (may_miss && node.has_input(i) &&
        checked_product(lowering.dims(node.inputs[i])).value_or(0) != 1)
      return false;
  }
  return true;
}

// Truths that one Cast reads are written as what it wants.
void take_cast(Lowering& lowering, TypedDraft& draft) {
  const NodeId reader = lowering.only_reader(draft.result);
  if (!draft.gives_truths || !reader.is_valid() || lowering.is_covered(reader)) return;
  const Node& node = lowering.node(reader);
  if (!node.is("Cast") || !node.has_output(0)) return;
  const DataType wanted = lowering.type(node.outputs[0]);
  draft.work.then = wanted == DataType::Bool ? nullptr : typed_conversion(DataType::Bool, wanted);
  if (draft.work.then == nullptr) return;
  lowering.cover(reader);
  draft.nodes.push_back(reader);
  draft.result = node.outputs[0];
}

TypedGrid grid_of(const TypedDraft& draft, const Placement& result) {
  TypedGrid grid;
  grid.dims = result.dims.empty() ? Dims{1} : result.dims;
  grid.result_bytes = bits(result.type) / 8;
  for (const Placement& operand : draft.operands) {
    Dims strides(grid.dims.size(), 0);
    const std::size_t lead = strides.size() - operand.dims.size();
    for (std::size_t axis = 0; axis < operand.dims.size(); ++axis) {
      if (operand.dims[axis] != 1) strides[lead + axis] = operand.strides[axis];
    }
    grid.strides.push_back(std::move(strides));
    grid.operand_bytes.push_back(bits(operand.type) / 8);
  }
  return merged(std::move(grid));
}

constexpr std::int64_t kBlocksWorthAThread = 8;

void add_typed_step(Lowering& lowering, const TypedDraft& draft) {
  const Placement result = lowering.new_row_major(draft.result);
  const TypedGrid grid = grid_of(draft, result);
  const std::int64_t blocks = grid.blocks();
  const int threads = blocks >= kBlocksWorthAThread ? lowering.threads() : 1;
  const std::string what = fmt::format("{} '{}'", lowering.node(draft.nodes[0]).op,
                                       lowering.graph().display_name(draft.nodes[0]));
  StepDraft step{.nodes = draft.nodes,
                 .algorithm = "element-wise",
                 .executed_flops = result.elements(),
                 .reads = draft.operands,
                 .writes = {result}};
  lowering.add_step(
      step, [=, operands = draft.operands, work = draft.work](const Addresses& at) -> Runner {
        std::array<const std::byte*, kTypedOperands> sources = {};
        for (std::size_t i = 0; i < operands.size(); ++i) sources[i] = at.bytes(operands[i]);
        std::byte* to = at.bytes(result);
        return [=] {
          std::atomic<bool> is_defined = true;
          execute::in_parallel(threads, blocks, [&](std::int64_t first, std::int64_t last) {
            if (!run_typed(work, grid, sources, to, first, last)) is_defined = false;
          });
          if (!is_defined) fail_bad_input("{}: integer division by zero", what);
        };
      });
  lowering.set_placement(draft.result, result);
}

}  // namespace

bool lower_typed(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!node.is_standard() || !node.has_output(0)) return false;
  if (!has_typed_form(lowering, node) || !have_types(lowering, node)) return false;
  const TypedOp op = op_of(lowering, node);
  if (op.run == nullptr || checked_product(lowering.dims(node.outputs[0])).value_or(0) == 0)
    return false;
  TypedDraft draft{.work = {.run = op.run, .numbers = numbers_of(node)},
                   .gives_truths = op.gives_truths,
                   .nodes = {id},
                   .result = node.outputs[0]};
  draft.operands = placed_operands(lowering, node);
  take_cast(lowering, draft);
  add_typed_step(lowering, draft);
  return true;
}

void add_typed_lowering(LowerTable& table) {
  for (const char* op :
       {"Equal", "Less",  "LessOrEqual", "Greater", "GreaterOrEqual", "And",   "Or",
        "Xor",   "Not",   "Mod",         "Sign",    "Round",          "IsNaN", "Sin",
        "Cos",   "Tan",   "Asin",        "Acos",    "Atan",           "Sinh",  "Cosh",
        "Asinh", "Acosh", "Atanh",       "Mish",    "Celu",           "Selu",  "ThresholdedRelu"}) {
    table[op] = lower_typed;
  }
}

}  // namespace assay::cpu
