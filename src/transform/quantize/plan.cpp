#include "transform/quantize/plan.h"

#include <fmt/core.h>
#include <algorithm>

namespace assay::transform {

namespace {

using OpNames = std::set<std::string, std::less<>>;

// Ops that move or compare elements: their result has the scale of their operand.
const OpNames& moving_ops() {
  static const OpNames kOps = {"MaxPool",   "Reshape", "Flatten", "Transpose", "Squeeze",
                               "Unsqueeze", "Slice",   "Gather",  "Expand",    "Split"};
  return kOps;
}

// One operand, and a quantised form of their own.
const OpNames& pooling_ops() {
  static const OpNames kOps = {"AveragePool", "GlobalAveragePool", "Softmax", "Sigmoid",
                               "LeakyRelu"};
  return kOps;
}

// Functions of one number, of which whole chains become one table.
const OpNames& function_ops() {
  static const OpNames kOps = {"Relu",      "Clip",      "HardSigmoid",
                               "HardSwish", "Tanh",      "Elu",
                               "Gelu",      "Softplus",  "Softsign",
                               "Exp",       "Sqrt",      "Abs",
                               "Neg",       "Erf",       "Mish",
                               "Selu",      "Celu",      "Add",
                               "Sub",       "Mul",       "Div",
                               "Pow",       "Min",       "Max",
                               "Sigmoid",   "LeakyRelu", "ThresholdedRelu"};
  return kOps;
}

const OpNames& unquantized_layers() {
  static const OpNames kOps = {"ConvTranspose",     "LSTM", "GRU", "RNN", "Einsum", "Attention",
                               "MultiHeadAttention"};
  return kOps;
}

bool is_clamp(const Node& node) {
  return node.is("Relu") || node.is("Clip");
}

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& options)
      : graph_(graph), options_(options), readers_(consumers(graph)) {
    plan_.is_quantized_node.resize(graph.node_count());
    plan_.range_from.resize(graph.value_count());
    function_of_.resize(graph.value_count());
    is_output_.resize(graph.value_count());
    for (const ValueId output : graph.outputs()) is_output_[output.number] = true;
  }

  QuantizationPlan run() && {
    find_sums_before_norms();
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) visit(NodeId{i});
    return std::move(plan_);
  }

 private:
  bool is_constant(ValueId id) const { return graph_.initializer(id) != nullptr; }
  bool is_float(ValueId id) const {
    const ValueType& type = graph_.value(id).type;
    return type.is_tensor() && type.element == DataType::Float32;
  }
  bool is_activation(ValueId id) const { return is_float(id) && !is_constant(id); }
  // In 8 bits already, or computed from such a value by functions of one number.
  bool can_be_quantized(ValueId id) const {
    return plan_.is_quantized(id) || function_of_[id.number].is_valid();
  }

  void demand(ValueId id) {
    if (!plan_.is_quantized(id)) plan_.range_from[id.number] = id;
  }

  // The Relu or Clip that is the only reader of the node's result.
  bool is_clamped_next(const Node& node) const {
    const ValueId result = node.outputs[0];
    const auto& readers = readers_[result.number];
    if (readers.size() != 1 || is_output_[result.number]) return false;
    const Node& next = graph_.node(readers.front());
    return is_clamp(next) && next.inputs[0] == result && has_constant_bounds(next);
  }
  bool has_constant_bounds(const Node& node) const {
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.has_input(i) && !is_constant(node.inputs[i])) return false;
    }
    return true;
  }

  void quantize(NodeId id, std::span<const ValueId> operands) {
    const Node& node = graph_.node(id);
    plan_.is_quantized_node[id.number] = true;
    for (const ValueId operand : operands) demand(operand);
    if (is_clamped_next(node))
      is_clamped_[node.outputs[0].number] = true;
    else
      demand(node.outputs[0]);
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.is_standard() || node.inputs.empty() || !node.has_input(0)) return visit_other(id);
    if (node.is("Conv") || node.is("Gemm") || node.is("MatMul")) return visit_layer(id);
    if (unquantized_layers().contains(node.op)) return visit_other(id);
    if (!options_.only.empty() && !is_clamp(node)) return;
    if (options_.keep_float.contains(node.name)) return;
    if (is_clamp(node) && visit_clamp(id)) return;
    if (moving_ops().contains(node.op)) return visit_movement(id);
    if (pooling_ops().contains(node.op) && visit_pool(id)) return;
    if (function_ops().contains(node.op) && visit_function(node)) return;
    if (node.is("Add") || node.is("Mul")) visit_binary(id);
    if (node.is("Concat")) visit_concat(id);
  }

  void visit_other(NodeId id) {
    const Node& node = graph_.node(id);
    if (unquantized_layers().contains(node.op))
      plan_.layers.push_back({id, fmt::format("{} has no 8-bit form", node.op)});
  }

  void visit_layer(NodeId id) {
    const Node& node = graph_.node(id);
    const std::string why = why_layer_stays_float(node);
    plan_.layers.push_back({id, why});
    if (!why.empty()) return;
    std::vector<ValueId> operands = {node.inputs[0]};
    if (layer_weight(graph_, node) == nullptr) operands.push_back(node.inputs[1]);
    quantize(id, operands);
  }

  std::string why_layer_stays_float(const Node& node) const {
    if (options_.keep_float.contains(node.name)) return "kept by request";
    if (!options_.only.empty() && !options_.only.contains(node.name)) return "not chosen";
    if (!node.has_input(1)) return "it has no second operand";
    if (!is_float(node.inputs[0]) || !is_float(node.inputs[1])) return "it is not of float32";
    if (is_constant(node.inputs[0])) return "its first operand is constant";
    const Tensor* weight = layer_weight(graph_, node);
    if (node.is("MatMul")) return why_product_stays_float(weight);
    if (weight == nullptr) return "its weight is computed by the model";
    if (node.has_input(2) && !has_plain_bias(node, *weight))
      return "its bias is not one number for each channel";
    if (node.is("Gemm") && (node.float_or("alpha", 1) != 1.0f || node.float_or("beta", 1) != 1.0f))
      return "it multiplies its result by a factor";
    return "";
  }
  static std::string why_product_stays_float(const Tensor* weight) {
    return weight != nullptr && weight->dims().size() != 2 ? "its weight is not one matrix" : "";
  }
  bool has_plain_bias(const Node& node, const Tensor& weight) const {
    const Tensor* bias = graph_.initializer(node.inputs[2]);
    return bias != nullptr && bias->type() == DataType::Float32 && bias->dims().size() == 1 &&
           bias->elements() == weight.dims()[output_axis(node)];
  }

  // One that belongs to the op before, or stands alone after a quantised value.
  bool visit_clamp(NodeId id) {
    const Node& node = graph_.node(id);
    if (!has_constant_bounds(node)) return false;
    const bool is_fused = is_clamped_[node.inputs[0].number];
    if (!is_fused && !plan_.is_quantized(node.inputs[0])) return false;
    if (!is_fused && !options_.only.empty()) return true;
    plan_.is_quantized_node[id.number] = true;
    demand(node.outputs[0]);
    return true;
  }

  void visit_movement(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId operand = node.inputs[0];
    if (!is_activation(operand) || !can_be_quantized(operand)) return;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.has_output(i)) return;
      if (node.is("MaxPool") && i > 0) return;  // positions of the maxima
    }
    demand(operand);
    plan_.is_quantized_node[id.number] = true;
    for (const ValueId output : node.outputs)
      plan_.range_from[output.number] = plan_.range_from[operand.number];
  }

  bool visit_pool(NodeId id) {
    const Node& node = graph_.node(id);
    if (!is_activation(node.inputs[0]) || !can_be_quantized(node.inputs[0])) return false;
    quantize(id, {{node.inputs[0]}});
    return true;
  }

  // Of one quantised value and constants of one element: its result is quantised where a reader
  // asks for it.
  bool visit_function(const Node& node) {
    ValueId source;
    for (const ValueId input : node.inputs) {
      if (!input.is_valid()) continue;
      if (const Tensor* constant = graph_.initializer(input)) {
        if (constant->elements() != 1) return false;
        continue;
      }
      if (!can_be_quantized(input)) return false;
      const ValueId from = plan_.is_quantized(input) ? input : function_of_[input.number];
      if (source.is_valid() && source != from) return false;
      source = from;
    }
    if (!source.is_valid() || !is_float(node.outputs[0])) return false;
    function_of_[node.outputs[0].number] = source;
    return true;
  }

  void visit_binary(NodeId id) {
    const Node& node = graph_.node(id);
    const auto [a, b] = std::pair(node.inputs[0], node.inputs[1]);
    if (!is_float(a) || !is_float(b) || leads_to_norm_[id.number]) return;
    if (!can_be_quantized(a) && !can_be_quantized(b)) return;
    quantize(id, {{a, b}});
  }

  void visit_concat(NodeId id) {
    const Node& node = graph_.node(id);
    if (!std::ranges::all_of(node.inputs, [&](ValueId v) { return v.is_valid() && is_float(v); }))
      return;
    if (!std::ranges::any_of(node.inputs, [&](ValueId v) { return can_be_quantized(v); })) return;
    quantize(id, node.inputs);
  }

  bool is_norm(const Node& node) const {
    if (node.op == "LayerNormalization" || node.op == "SkipLayerNormalization" ||
        node.op == "SimplifiedLayerNormalization" || node.op == "RMSNormalization")
      return true;
    if (!node.is("ReduceMean")) return false;
    const auto axes = node.ints_or("axes", {});
    const ValueType& type = graph_.value(node.inputs[0]).type;
    const auto rank = type.shape ? static_cast<std::int64_t>(type.shape->rank()) : 0;
    return axes.size() == 1 && (axes[0] == -1 || axes[0] == rank - 1);
  }

  // From the last node to the first.
  void find_sums_before_norms() {
    leads_to_norm_.resize(graph_.node_count());
    is_clamped_.resize(graph_.value_count());
    for (std::uint32_t i = static_cast<std::uint32_t>(graph_.node_count()); i-- > 0;) {
      const Node& node = graph_.node(NodeId{i});
      if (!node.is("Add") && !moving_ops().contains(node.op)) continue;
      for (const NodeId reader : readers_[node.outputs[0].number]) {
        if (leads_to_norm_[reader.number] || is_norm(graph_.node(reader))) leads_to_norm_[i] = true;
      }
    }
  }

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
  std::vector<bool> leads_to_norm_;   // by node: an Add or a movement of elements
  std::vector<bool> is_clamped_;      // by value: a Relu or Clip follows, fused
  std::vector<ValueId> function_of_;  // by value, of those that are not quantised themselves
  QuantizationPlan plan_;
};

}  // namespace

const Tensor* layer_weight(const Graph& graph, const Node& node) {
  const bool may_have = node.is("Conv") || node.is("Gemm") || node.is("MatMul");
  return may_have && node.has_input(1) ? graph.initializer(node.inputs[1]) : nullptr;
}

std::size_t output_axis(const Node& node) {
  if (node.is("Conv")) return 0;
  return node.is("Gemm") && node.int_or("transB", 0) != 0 ? 0 : 1;
}

QuantizationPlan plan_quantization(const Graph& graph, const PlanOptions& options) {
  return Planner(graph, options).run();
}

}  // namespace assay::transform
