#include "execute/cpu/lower/fused_ops.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace assay::cpu {

namespace {

PostOp eltwise(Algorithm what, float alpha = 0, float beta = 0) {
  return {.kind = PostOp::Kind::Eltwise, .algorithm = what, .alpha = alpha, .beta = beta};
}

std::optional<PostOp> clip_of(const Lowering& lowering, const Node& node) {
  float low = node.float_or("min", std::numeric_limits<float>::lowest());
  float high = node.float_or("max", std::numeric_limits<float>::max());
  for (const std::size_t input : {1u, 2u}) {
    if (!node.has_input(input)) continue;
    const auto bound = lowering.number(node.inputs[input]);
    if (!bound) return {};
    (input == 1 ? low : high) = static_cast<float>(*bound);
  }
  return eltwise(Algorithm::eltwise_clip, low, high);
}

}  // namespace

std::optional<PostOp> activation_of(const Lowering& lowering, const Node& node) {
  if (lowering.options().ieee_strict || !node.is_standard()) return {};
  if (node.op == "Relu") return eltwise(Algorithm::eltwise_relu);
  if (node.op == "LeakyRelu")
    return eltwise(Algorithm::eltwise_relu, node.float_or("alpha", 0.01f));
  if (node.op == "Clip") return clip_of(lowering, node);
  if (node.op == "Sigmoid") return eltwise(Algorithm::eltwise_logistic);
  if (node.op == "Tanh") return eltwise(Algorithm::eltwise_tanh);
  if (node.op == "HardSwish") return eltwise(Algorithm::eltwise_hardswish, 1.0f / 6.0f, 0.5f);
  if (node.op == "Elu") return eltwise(Algorithm::eltwise_elu, node.float_or("alpha", 1.0f));
  if (node.op == "Gelu") {
    return eltwise(node.string_or("approximate", "none") == "tanh" ? Algorithm::eltwise_gelu_tanh
                                                                   : Algorithm::eltwise_gelu_erf);
  }
  return {};
}

namespace {

// The other operand of an Add that could join: of the same shape, and computed before.
std::optional<ValueId> addend_of(const Lowering& lowering, const Node& node, ValueId value) {
  if (!node.is("Add") || node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return {};
  const ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
  if (!lowering.is_real(other) || lowering.constant(other) != nullptr) return {};
  if (!lowering.is_available(other) || lowering.dims(other) != lowering.dims(value)) return {};
  return other;
}

// The main node must not overwrite what it is still reading.
bool is_read_by(Lowering& lowering, NodeId main, BufferId buffer) {
  for (const ValueId input : lowering.node(main).inputs) {
    if (!input.is_valid() || lowering.constant(input) != nullptr) continue;
    if (lowering.native(input).buffer == buffer) return true;
  }
  return false;
}

void add_addition(Lowering& lowering, NodeId main, NodeId id, ValueId other, FusedOps& fused) {
  fused.addend = other;
  fused.in_place = lowering.may_overwrite(other, id) &&
                   !is_read_by(lowering, main, lowering.native(other).buffer);
  fused.post_ops.push_back({.kind = fused.in_place ? PostOp::Kind::Sum : PostOp::Kind::BinaryAdd});
}

// Some of oneDNN's kernels take the numbers of the first for all activations of one kind: of
// LeakyRelu then Relu, both would leak.
bool has_one_like(const FusedOps& fused, const PostOp& activation) {
  return std::ranges::find(fused.post_ops, activation.algorithm, &PostOp::algorithm) !=
         fused.post_ops.end();
}

}  // namespace

FusedOps find_fused_ops(Lowering& lowering, NodeId id, ValueId value, Additions additions) {
  FusedOps fused;
  fused.result = value;
  constexpr std::size_t kMostPostOps = 4;
  while (fused.post_ops.size() < kMostPostOps) {
    const NodeId reader = lowering.only_reader(fused.result);
    if (!reader.is_valid() || lowering.is_covered(reader) || reader <= id) break;
    const Node& node = lowering.node(reader);
    if (node.outputs.size() != 1 || !lowering.is_real(node.outputs[0])) break;
    if (lowering.type(node.outputs[0]) != lowering.type(value)) break;
    if (lowering.dims(node.outputs[0]) != lowering.dims(value)) break;
    if (const auto activation = activation_of(lowering, node);
        activation && node.inputs[0] == fused.result && !has_one_like(fused, *activation)) {
      fused.post_ops.push_back(*activation);
    } else if (const auto other = addend_of(lowering, node, fused.result);
               other && !fused.addend && additions == Additions::Taken) {
      add_addition(lowering, id, reader, *other, fused);
    } else {
      break;
    }
    fused.nodes.push_back(reader);
    fused.result = node.outputs[0];
    fused.flops += checked_product(lowering.dims(value)).value_or(0);
  }
  return fused;
}

FusedOps no_fused_ops(ValueId value) {
  FusedOps fused;
  fused.result = value;
  return fused;
}

std::vector<PostOp> post_ops_for(const FusedOps& fused, const Desc& layout) {
  std::vector<PostOp> ops = fused.post_ops;
  for (PostOp& op : ops) {
    if (op.kind == PostOp::Kind::BinaryAdd) op.operand = layout;
  }
  return ops;
}

void add_addend_argument(const FusedOps& fused, const Desc& layout, const Placement& placement,
                         std::vector<Argument>& arguments) {
  for (std::size_t i = 0; i < fused.post_ops.size(); ++i) {
    if (fused.post_ops[i].kind != PostOp::Kind::BinaryAdd) continue;
    arguments.push_back({argument::post_op_operand(i), layout, placement});
  }
}

}  // namespace assay::cpu
