#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "assay/optimize.h"

namespace assay {

namespace {

constexpr std::array<std::string_view, 4> kIntegerOps = {"ConvInteger", "MatMulInteger",
                                                         "MatMulNBits", "DynamicQuantizeLinear"};

bool converts_to_codes(const Node& node) {
  return node.op == "QuantizeLinear" || node.op == "DequantizeLinear";
}

bool holds_codes(const Node& node) {
  return converts_to_codes(node) || node.op.starts_with("QLinear") ||
         node.op.starts_with("DynamicQuantize") || std::ranges::count(kIntegerOps, node.op) > 0;
}

// The stored codes where it dequantises a weight; else the float value that becomes codes.
const std::string& tensor_name(const Graph& graph, const Node& node) {
  return graph.value(node.inputs.front()).name;
}

std::optional<std::int64_t> axis_of(const Node& node, const Tensor& scales) {
  if (scales.dims().empty() || scales.elements() == 1) return {};
  for (const Attribute& attribute : node.attributes) {
    const auto* axis = std::get_if<std::int64_t>(&attribute.value);
    if (attribute.name == "axis" && axis != nullptr) return *axis;
  }
  return 1;  // as the operator's standard has it
}

// Of an activation, QuantizeLinear alone says it; the DequantizeLinear behind repeats it.
bool is_first_mention(const Graph& graph, const Node& node) {
  return node.op == "QuantizeLinear" || graph.initializer(node.inputs.front()) != nullptr;
}

}  // namespace

std::vector<TensorScale> tensor_scales(const Graph& graph) {
  std::vector<TensorScale> all;
  std::set<std::string> seen;
  for (const Node& node : graph.nodes()) {
    if (!converts_to_codes(node) || !node.has_input(1) || !is_first_mention(graph, node)) continue;
    const Tensor* scales = graph.initializer(node.inputs[1]);
    if (scales == nullptr || !seen.insert(tensor_name(graph, node)).second) continue;
    TensorScale one{.tensor = tensor_name(graph, node), .type = DataType::UInt8};
    one.axis = axis_of(node, *scales);
    one.scales = scales->to_double();
    const Tensor* zero_points = node.has_input(2) ? graph.initializer(node.inputs[2]) : nullptr;
    if (zero_points != nullptr) {
      one.type = zero_points->type();
      one.zero_points = zero_points->to_int64();
    }
    all.push_back(std::move(one));
  }
  return all;
}

bool is_quantized(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), holds_codes);
}

}  // namespace assay
