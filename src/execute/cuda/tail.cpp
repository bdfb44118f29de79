#include "execute/cuda/tail.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

namespace {

class TailReader {
 public:
  TailReader(Lowering& lowering, const Chain& chain, const TailRules& rules, const Placement& like)
      : lowering_(lowering), chain_(chain), rules_(rules), like_(like) {
    tail_.value = chain.start;
  }

  Tail read() {
    while (tail_.activation == TailActivation::None && take_next()) {
    }
    return tail_;
  }

 private:
  bool take_next() {
    const std::vector<NodeId> readers = readers_in_chain();
    if (readers.size() == 1) return take(readers[0]);
    return readers.size() == 2 &&
           (take_swish(readers[0], readers[1]) || take_swish(readers[1], readers[0]));
  }

  std::vector<NodeId> readers_in_chain() const {
    std::vector<NodeId> found;
    for (const NodeId id : chain_.nodes)
      if (std::ranges::find(lowering_.node(id).inputs, tail_.value) !=
          lowering_.node(id).inputs.end())
        found.push_back(id);
    return found;
  }

  // A library's result has one type.
  bool keeps_type(NodeId id) const {
    return lowering_.type(lowering_.node(id).outputs[0]) == like_.type;
  }

  bool take(NodeId id) {
    const Node& node = lowering_.node(id);
    if (!node.is_standard() || !keeps_type(id)) return false;
    if (node.is("Add")) return take_addition(id);
    const TailActivation activation = activation_of(node);
    if (activation == TailActivation::None || !is_allowed(activation)) return false;
    tail_.activation = activation;
    advance(id);
    return true;
  }

  void advance(NodeId id) {
    tail_.nodes.push_back(id);
    tail_.value = lowering_.node(id).outputs[0];
  }

  bool is_allowed(TailActivation activation) const {
    return std::ranges::find(rules_.activations, activation) != rules_.activations.end();
  }

  bool take_addition(NodeId id) {
    const Node& node = lowering_.node(id);
    if (node.inputs[0] == node.inputs[1]) return false;
    const ValueId other = node.inputs[node.inputs[0] == tail_.value ? 1 : 0];
    if (lowering_.type(other) != like_.type) return false;
    const Placement native = lowering_.native(other);
    const Placement seen = broadcast(native, like_.dims);
    if (rules_.takes_bias && !tail_.bias && is_vector(native, seen)) {
      tail_.bias = seen;
    } else if (rules_.takes_added && !tail_.added && lies_alike(seen)) {
      tail_.added = seen;
    } else {
      return false;
    }
    advance(id);
    return true;
  }

  // One number for each step along the axis, without gaps.
  bool is_vector(const Placement& native, const Placement& seen) const {
    const std::size_t axis = rules_.bias_axis;
    return native.elements() == like_.dims[axis] && native.elements() > 1 &&
           seen.strides[axis] == 1;
  }

  bool lies_alike(const Placement& seen) const {
    for (std::size_t axis = 0; axis < like_.dims.size(); ++axis)
      if (like_.dims[axis] != 1 && seen.strides[axis] != like_.strides[axis]) return false;
    return true;
  }

  TailActivation activation_of(const Node& node) {
    if (node.is("Relu")) return TailActivation::Relu;
    if (node.is("Sigmoid")) return TailActivation::Sigmoid;
    if (node.is("Tanh")) return TailActivation::Tanh;
    if (node.is("Gelu")) {
      return node.string_or("approximate", "none") == "tanh" ? TailActivation::GeluTanh
                                                             : TailActivation::Gelu;
    }
    return node.is("Clip") ? clip_of(node) : TailActivation::None;
  }

  // With constant limits; the attributes of old opsets are not known here.
  TailActivation clip_of(const Node& node) {
    if (!node.has_input(1) || !node.has_input(2)) return TailActivation::None;
    const auto lower = lowering_.number(node.inputs[1]);
    const auto upper = lowering_.number(node.inputs[2]);
    if (!lower || !upper) return TailActivation::None;
    tail_.lower = *lower;
    tail_.upper = *upper;
    return TailActivation::ClippedRelu;
  }

  // x · sigmoid(x)
  bool take_swish(NodeId sigmoid, NodeId product) {
    const Node& first = lowering_.node(sigmoid);
    const Node& second = lowering_.node(product);
    if (!first.is("Sigmoid") || !second.is("Mul") || !is_allowed(TailActivation::Swish) ||
        !keeps_type(sigmoid) || !keeps_type(product))
      return false;
    const ValueId gate = first.outputs[0];
    const bool is_gated = second.inputs[0] == gate || second.inputs[1] == gate;
    if (!is_gated || lowering_.readers(gate).size() != 1) return false;
    tail_.activation = TailActivation::Swish;
    tail_.nodes.push_back(sigmoid);
    advance(product);
    return true;
  }

  Lowering& lowering_;
  const Chain& chain_;
  const TailRules& rules_;
  const Placement& like_;
  Tail tail_;
};

// Operand `i` of a chain's text is "a<i>".
std::string take_operand(ChainText& text, const Placement& placement) {
  text.operands.push_back(placement);
  return fmt::format("a{}", text.operands.size() - 1);
}

}  // namespace

Tail tail_of(Lowering& lowering, const Chain& chain, const TailRules& rules,
             const Placement& like) {
  return TailReader(lowering, chain, rules, like).read();
}

const char* name(TailActivation activation) {
  switch (activation) {
    case TailActivation::None:
      return "plain";
    case TailActivation::Relu:
      return "relu";
    case TailActivation::ClippedRelu:
      return "clipped relu";
    case TailActivation::Sigmoid:
      return "sigmoid";
    case TailActivation::Tanh:
      return "tanh";
    case TailActivation::Swish:
      return "swish";
    case TailActivation::Gelu:
      return "gelu";
    case TailActivation::GeluTanh:
      return "gelu tanh";
  }
  return "";
}

Remainder::Remainder(Lowering& lowering, const Epilogue& epilogue, const Tail& tail,
                     const Placement& library_result, const std::optional<Placement>& first_added)
    : lowering_(lowering), library_result_(epilogue.result) {
  Chain rest{.nodes = {}, .start = tail.value, .result = epilogue.chain.result};
  for (const NodeId id : epilogue.chain.nodes)
    if (std::ranges::find(tail.nodes, id) == tail.nodes.end()) rest.nodes.push_back(id);
  if (rest.nodes.empty() && !first_added) return;
  library_result_ = lowering.in_new_buffer(library_result);
  ChainText text = text_of(lowering, rest);
  std::string sum = take_operand(text, library_result_);
  if (first_added) sum += " + " + take_operand(text, *first_added);
  text.statements = fmt::format("    const auto x = {};\n", sum) + text.statements;
  kernel_ = elementwise_kernel(text, epilogue.result);
  call_ = {.kernel = 0, .shape = kernel_->shape, .arguments = text.operands};
  call_.arguments.push_back(epilogue.result);
}

void Remainder::add_kernel() {
  if (kernel_) call_.kernel = lowering_.kernels().add(kernel_->text);
}

std::vector<BufferId> Remainder::workspace() const {
  return kernel_ ? std::vector{library_result_.buffer} : std::vector<BufferId>{};
}

Runner Remainder::bind(const Addresses& at) const {
  return kernel_ ? binder_of(call_)(at) : Runner();
}

std::int64_t alignment_of(const Placement& placement, std::int64_t most) {
  const std::int64_t bytes = placement.offset * bits(placement.type) / 8;
  std::int64_t alignment = most;
  while (alignment > 1 && bytes % alignment != 0) alignment /= 2;
  return alignment;
}

}  // namespace assay::cuda
