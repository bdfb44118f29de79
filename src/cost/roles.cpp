#include "cost/roles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay::cost {

namespace {

constexpr std::array<std::string_view, 13> kHandsOn = {
    "Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten",         "Cast",
    "CastLike", "Slice",     "Split",   "Expand",  "Tile",      "DequantizeLinear"};

// Inputs that hold settings, scales, zero points or thresholds, never something trained.
using SettingInputs = std::unordered_map<std::string_view, std::vector<std::size_t>>;
const SettingInputs& setting_inputs() {
  static const SettingInputs table = {
      {"QuantizeLinear", {1, 2}},
      {"DequantizeLinear", {1, 2}},
      {"QLinearConv", {1, 2, 4, 5, 6, 7}},
      {"QLinearMatMul", {1, 2, 4, 5, 6, 7}},
      {"MatMulInteger", {2, 3}},
      {"ConvInteger", {2, 3}},
      {"QGemm", {1, 2, 4, 5, 7, 8}},
      {"MatMulIntegerToFloat", {2, 3, 4, 5}},
      {"DynamicQuantizeMatMul", {2, 3}},
      {"MatMulNBits", {2, 3, 4}},
      {"QLinearAdd", {1, 2, 4, 5, 6, 7}},
      {"QLinearMul", {1, 2, 4, 5, 6, 7}},
      {"QLinearSigmoid", {1, 2, 3, 4}},
      {"QLinearLeakyRelu", {1, 2, 3, 4}},
      {"QLinearGlobalAveragePool", {1, 2, 3, 4}},
      {"QLinearAveragePool", {1, 2, 3, 4}},
      {"QLinearSoftmax", {1, 2, 3, 4}},
      {"QAttention", {3, 4, 5, 6, 7}},
      {"DynamicQuantizeLSTM", {4, 8, 9, 10, 11}},
      {"Resize", {1, 2, 3}},
      {"ResizeGradient", {1, 2, 3}},
      {"Upsample", {1}},
      {"Clip", {1, 2}},
      {"OneHot", {1, 2}},
      {"Pad", {1, 2, 3}},
      {"Dropout", {1, 2}},
      {"Range", {0, 1, 2}},
      {"NonMaxSuppression", {2, 3, 4}},
      {"Equal", {0, 1}},
      {"Less", {0, 1}},
      {"LessOrEqual", {0, 1}},
      {"Greater", {0, 1}},
      {"GreaterOrEqual", {0, 1}},
      {"IsInf", {0}},
      {"IsNaN", {0}},
      {"Shape", {0}},
      {"Size", {0}},
      {"Reshape", {1}},
      {"Expand", {1}},
      {"Tile", {1}},
      {"TopK", {1}},
  };
  return table;
}

bool is_setting(const Node& node, std::size_t input) {
  const auto found = setting_inputs().find(node.op);
  if (found == setting_inputs().end()) return false;
  return std::ranges::find(found->second, input) != found->second.end();
}

bool is_running_statistic(const Node& node, std::size_t input) {
  return node.is("BatchNormalization") && (input == 3 || input == 4);
}

bool takes_quantised_weights(const Node& node) {
  static constexpr std::array<std::string_view, 12> kOps = {
      "QLinearConv", "QLinearMatMul",        "MatMulInteger",
      "ConvInteger", "QLinearAdd",           "QLinearMul",
      "QGemm",       "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
      "MatMulNBits", "QAttention",           "DynamicQuantizeLSTM"};
  return std::ranges::find(kOps, node.op) != kOps.end();
}

bool is_initial_state(const Node& node, std::size_t input) {
  const bool is_recurrent =
      node.is("LSTM") || node.is("GRU") || node.is("RNN") || node.op == "DynamicQuantizeLSTM";
  return is_recurrent && (input == 5 || input == 6);
}

// True when the sum is a score: nothing but further sums and views between it and a softmax.
bool reaches_softmax(const Graph& graph, NodeId sum) {
  constexpr int kMostSteps = 4;
  constexpr std::uint32_t kFarthestReader = 1000;  // a bound on the search, not a rule
  constexpr std::array<std::string_view, 4> kBetween = {"Add", "Reshape", "Where", "Cast"};
  if (!graph.node(sum).has_output(0)) return false;
  ValueId value = graph.node(sum).outputs[0];
  std::uint32_t next = sum.number + 1;
  for (int step = 0; step < kMostSteps; ++step) {
    const auto reads = [&](const Node& node) { return std::ranges::count(node.inputs, value) > 0; };
    const auto end = std::min<std::size_t>(graph.node_count(), next + kFarthestReader);
    while (next < end && !reads(graph.node(NodeId{next}))) ++next;
    if (next == end) return false;
    const Node& reader = graph.node(NodeId{next});
    if (reader.is("Softmax")) return true;
    if (std::ranges::find(kBetween, reader.op) == kBetween.end()) return false;
    if (!reader.has_output(0)) return false;
    value = reader.outputs[0];
    ++next;
  }
  return false;
}

// A tensor of zeros is a mask only where attention scores are computed: an untrained bias is all
// zeros too.
bool is_additive_mask(const TensorUse& use) {
  if (!use.graph.node(use.node).is("Add")) return false;
  if (use.content == Content::Mask) return true;
  return use.content == Content::Zeros && reaches_softmax(use.graph, use.node);
}

}  // namespace

Content content_of(const Tensor& tensor) {
  constexpr double kForbidden = -1e4;
  const auto bytes = tensor.bytes();
  if (tensor.type() != DataType::Float32) return Content::Ordinary;
  bool forbids = false;
  // Trained tensors end this loop at their first element.
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (value != 0.0f && !(value <= kForbidden)) return Content::Ordinary;
    forbids = forbids || value != 0.0f;
  }
  return forbids ? Content::Mask : Content::Zeros;
}

bool needs_content(const Node& node, std::size_t input, const Tensor& tensor) {
  if (!is_floating(tensor.type())) return false;
  return (node.is("Add") && tensor.dims().size() >= 2) || is_initial_state(node, input);
}

bool passes_on(const Node& node, std::size_t input, DataType type, bool other_inputs_are_known) {
  if (!node.is_standard()) return node.op == "DequantizeLinear" && input == 0;
  if (node.op == "Concat") return true;
  // Looking up rows chosen at run time is an embedding; chosen before, it is a rearrangement.
  // A quantised table is classified after its DequantizeLinear, so integers are passed on as well.
  if (node.op == "Gather") return input == 0 && (other_inputs_are_known || is_integer(type));
  return input == 0 && std::ranges::find(kHandsOn, node.op) != kHandsOn.end();
}

Role role_of(const TensorUse& use) {
  const Node& node = use.graph.node(use.node);
  const Tensor& tensor = use.tensor;
  if (is_running_statistic(node, use.input)) return Role::Statistic;
  if (tensor.elements() <= 1 || is_setting(node, use.input)) return Role::Constant;
  if (is_integer(tensor.type())) {
    return use.is_quantised || takes_quantised_weights(node) ? Role::Parameter : Role::Constant;
  }
  if (!is_floating(tensor.type()) || is_additive_mask(use)) return Role::Constant;
  const bool is_zero_state = is_initial_state(node, use.input) && use.content == Content::Zeros;
  return is_zero_state ? Role::Constant : Role::Parameter;
}

}  // namespace assay::cost
