#include <algorithm>

#include "onnx_io/encode.h"
#include "onnx_io/schema.h"
#include "onnx_io/written_names.h"

namespace assay::onnx {

namespace {

Rope encode_graph_in(const Graph& graph, const WrittenNames* around, ExternalPlan* external);

Rope encode_value_info(std::string_view name, const ValueType& type) {
  Rope message;
  message.add_bytes(value_info_field::kName, name);
  if (type != ValueType()) message.add_message(value_info_field::kType, encode_type(type));
  return message;
}

// Writes the value of one attribute: a field, and the number that says which field it is.
class AttributeEncoder {
 public:
  AttributeEncoder(const WrittenNames& names, ExternalPlan* external)
      : names_(names), external_(external) {}

  Rope encode(const Attribute& attribute) {
    message_.add_bytes(attribute_field::kName, attribute.name);
    std::visit(*this, attribute.value);
    return std::move(message_);
  }

  void operator()(std::int64_t value) {
    message_.add_integer(attribute_field::kInt, value);
    add_kind(AttributeKind::Int);
  }
  void operator()(float value) {
    message_.add_real(attribute_field::kFloat, value);
    add_kind(AttributeKind::Float);
  }
  void operator()(const std::string& value) {
    message_.add_bytes(attribute_field::kString, value);
    add_kind(AttributeKind::String);
  }
  void operator()(const Tensor& value) {
    message_.add_message(attribute_field::kTensor, encode_tensor(value, "", nullptr));
    add_kind(AttributeKind::Tensor);
  }
  void operator()(const GraphPtr& value) {
    message_.add_message(attribute_field::kGraph, encode_graph_in(*value, &names_, external_));
    add_kind(AttributeKind::Graph);
  }
  void operator()(const ValueType& value) {
    message_.add_message(attribute_field::kType, encode_type(value));
    add_kind(AttributeKind::Type);
  }
  void operator()(const std::vector<std::int64_t>& values) {
    for (const auto value : values) message_.add_integer(attribute_field::kInts, value);
    add_kind(AttributeKind::Ints);
  }
  void operator()(const std::vector<float>& values) {
    for (const auto value : values) message_.add_real(attribute_field::kFloats, value);
    add_kind(AttributeKind::Floats);
  }
  void operator()(const std::vector<std::string>& values) {
    for (const auto& value : values) message_.add_bytes(attribute_field::kStrings, value);
    add_kind(AttributeKind::Strings);
  }
  void operator()(const std::vector<Tensor>& values) {
    for (const auto& value : values) {
      message_.add_message(attribute_field::kTensors, encode_tensor(value, "", nullptr));
    }
    add_kind(AttributeKind::Tensors);
  }
  void operator()(const std::vector<GraphPtr>& values) {
    for (const auto& value : values) {
      message_.add_message(attribute_field::kGraphs, encode_graph_in(*value, &names_, external_));
    }
    add_kind(AttributeKind::Graphs);
  }
  void operator()(const std::vector<ValueType>& values) {
    for (const auto& value : values) {
      message_.add_message(attribute_field::kTypes, encode_type(value));
    }
    add_kind(AttributeKind::Types);
  }

 private:
  void add_kind(AttributeKind kind) {
    message_.add_integer(attribute_field::kKind, static_cast<std::int64_t>(kind));
  }

  const WrittenNames& names_;
  ExternalPlan* external_ = nullptr;
  Rope message_ = {};
};

Rope encode_node(const Node& node, const WrittenNames& names, ExternalPlan* external) {
  Rope message;
  for (const ValueId input : node.inputs) message.add_bytes(node_field::kInput, names.of(input));
  for (const ValueId output : node.outputs) {
    message.add_bytes(node_field::kOutput, names.of(output));
  }
  if (!node.name.empty()) message.add_bytes(node_field::kName, node.name);
  message.add_bytes(node_field::kOp, node.op);
  for (const auto& attribute : node.attributes) {
    message.add_message(node_field::kAttribute,
                        AttributeEncoder(names, external).encode(attribute));
  }
  if (!node.domain.empty()) message.add_bytes(node_field::kDomain, node.domain);
  return message;
}

// What is known of values between the nodes; inputs and outputs carry their types themselves.
void add_intermediate_types(const Graph& graph, const WrittenNames& names, Rope& message) {
  std::vector<bool> is_output(graph.value_count(), false);
  for (const ValueId output : graph.outputs()) is_output[output.number] = true;
  for (const Node& node : graph.nodes()) {
    for (const ValueId output : node.outputs) {
      if (!output.is_valid() || is_output[output.number]) continue;
      const ValueType& type = graph.value(output).type;
      if (type == ValueType()) continue;
      message.add_message(graph_field::kValueInfo, encode_value_info(names.of(output), type));
    }
  }
}

Rope encode_graph_in(const Graph& graph, const WrittenNames* around, ExternalPlan* external) {
  constexpr std::string_view kNameOfNameless = "graph";  // ONNX wants every graph to have a name.
  const WrittenNames names(graph, around);
  Rope message;
  for (const Node& node : graph.nodes()) {
    message.add_message(graph_field::kNode, encode_node(node, names, external));
  }
  message.add_bytes(graph_field::kName, graph.name.empty() ? kNameOfNameless : graph.name);
  for (const auto& [value, tensor] : graph.initializers()) {
    message.add_message(graph_field::kInitializer,
                        encode_tensor(tensor, names.of(value), external));
  }
  if (!graph.doc.empty()) message.add_bytes(graph_field::kDoc, graph.doc);
  for (const ValueId input : graph.inputs()) {
    message.add_message(graph_field::kInput,
                        encode_value_info(names.of(input), graph.value(input).type));
  }
  for (const ValueId output : graph.outputs()) {
    message.add_message(graph_field::kOutput,
                        encode_value_info(names.of(output), graph.value(output).type));
  }
  add_intermediate_types(graph, names, message);
  return message;
}

}  // namespace

Rope encode_graph(const Graph& graph, ExternalPlan* external) {
  return encode_graph_in(graph, nullptr, external);
}

}  // namespace assay::onnx
