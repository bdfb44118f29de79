#include "onnx_io/node_fields.h"

#include <bit>

#include "base/fail.h"
#include "onnx_io/functions.h"

namespace assay::onnx {

std::string_view NodeFields::display_name() const {
  if (!name.empty()) return name;
  for (const auto output : outputs) {
    if (!output.empty()) return output;
  }
  return {};
}

void NodeFields::clear() {
  name = op = domain = overload = {};
  inputs.clear();
  outputs.clear();
  attributes.clear();
}

void read_node_fields(std::string_view message, const Source& source, NodeFields& node) {
  node.clear();
  for (FieldReader field(message, source, "a node"); field.next();) {
    switch (field.number()) {
      case node_field::kInput:
        node.inputs.push_back(field.text());
        break;
      case node_field::kOutput:
        node.outputs.push_back(field.text());
        break;
      case node_field::kName:
        node.name = field.text();
        break;
      case node_field::kOp:
        node.op = field.text();
        break;
      case node_field::kAttribute:
        node.attributes.push_back(field.bytes());
        break;
      case node_field::kDomain:
        node.domain = normalised_domain(field.text());
        break;
      case node_field::kOverload:
        node.overload = field.text();
        break;
      default:
        break;
    }
  }
  if (node.op.empty()) fail_bad_input("node '{}' has no operator", node.display_name());
}

namespace {

[[noreturn]] void fail_sparse_initializer(std::string_view message, const Source& source) {
  constexpr int kValues = 1;  // of SparseTensorProto
  std::string_view name;
  for (FieldReader field(message, source, "a sparse initializer"); field.next();) {
    if (field.number() != kValues) continue;
    for (FieldReader inner(field.bytes(), source, "a tensor"); inner.next();) {
      if (inner.number() == tensor_field::kName) name = inner.text();
    }
  }
  fail_bad_input("initializer '{}' is a sparse tensor, which is not supported; store it dense",
                 name);
}

}  // namespace

GraphFields read_graph_fields(std::string_view message, const Source& source) {
  GraphFields graph;
  for (FieldReader field(message, source, "a graph"); field.next();) {
    switch (field.number()) {
      case graph_field::kNode:
        graph.nodes.push_back(field.bytes());
        break;
      case graph_field::kName:
        graph.name = field.text();
        break;
      case graph_field::kDoc:
        graph.doc = field.text();
        break;
      case graph_field::kInitializer:
        graph.initializers.push_back(field.bytes());
        break;
      case graph_field::kInput:
        graph.inputs.push_back(field.bytes());
        break;
      case graph_field::kOutput:
        graph.outputs.push_back(field.bytes());
        break;
      case graph_field::kValueInfo:
        graph.value_infos.push_back(field.bytes());
        break;
      case graph_field::kSparseInitializer:
        fail_sparse_initializer(field.bytes(), source);
      default:
        break;
    }
  }
  return graph;
}

ValueInfoFields read_value_info(std::string_view message, const Source& source) {
  ValueInfoFields info;
  for (FieldReader field(message, source, "a value's description"); field.next();) {
    if (field.number() == value_info_field::kName) info.name = field.text();
    if (field.number() == value_info_field::kType) info.type = field.bytes();
  }
  return info;
}

namespace {

AttributeKind kind_of_field(int number) {
  switch (number) {
    case attribute_field::kFloat:
      return AttributeKind::Float;
    case attribute_field::kInt:
      return AttributeKind::Int;
    case attribute_field::kString:
      return AttributeKind::String;
    case attribute_field::kTensor:
      return AttributeKind::Tensor;
    case attribute_field::kGraph:
      return AttributeKind::Graph;
    case attribute_field::kFloats:
      return AttributeKind::Floats;
    case attribute_field::kInts:
      return AttributeKind::Ints;
    case attribute_field::kStrings:
      return AttributeKind::Strings;
    case attribute_field::kTensors:
      return AttributeKind::Tensors;
    case attribute_field::kGraphs:
      return AttributeKind::Graphs;
    case attribute_field::kSparseTensor:
      return AttributeKind::SparseTensor;
    case attribute_field::kSparseTensors:
      return AttributeKind::SparseTensors;
    case attribute_field::kType:
      return AttributeKind::Type;
    case attribute_field::kTypes:
      return AttributeKind::Types;
    default:
      return AttributeKind::Undefined;
  }
}

void note_single_value(const FieldReader& field, AttributeFields& attribute) {
  switch (field.number()) {
    case attribute_field::kName:
      attribute.name = field.text();
      return;
    case attribute_field::kReference:
      attribute.reference = field.text();
      return;
    case attribute_field::kFloat:
      attribute.real = field.real();
      return;
    case attribute_field::kInt:
      attribute.integer = field.integer();
      return;
    case attribute_field::kString:
      attribute.bytes = field.bytes();
      return;
    case attribute_field::kTensor:
      attribute.tensor = field.bytes();
      return;
    case attribute_field::kGraph:
      attribute.graph = field.bytes();
      return;
    case attribute_field::kType:
      attribute.type = field.bytes();
      return;
    default:
      return;
  }
}

// Encoders that leave out zeros may state a kind and store nothing: that is a zero or empty list.
void settle_kind(std::int64_t stated, AttributeFields& attribute) {
  constexpr auto kLastKind = static_cast<std::int64_t>(AttributeKind::Types);
  if (stated < 0 || stated > kLastKind) {
    fail_bad_input("attribute '{}' has an unknown type {}", attribute.name, stated);
  }
  attribute.kind = static_cast<AttributeKind>(stated);
  if (!attribute.reference.empty()) return;
  if (attribute.kind == AttributeKind::Undefined) {
    if (std::popcount(attribute.present) != 1) {
      fail_bad_input("attribute '{}' does not say which type it has", attribute.name);
    }
    attribute.kind = static_cast<AttributeKind>(std::countr_zero(attribute.present));
  } else if (!attribute.has(attribute.kind) && attribute.present != 0) {
    fail_bad_input("attribute '{}' states one type and stores another", attribute.name);
  }
}

}  // namespace

AttributeFields read_attribute_fields(std::string_view message, const Source& source) {
  AttributeFields attribute;
  attribute.message = message;
  std::int64_t stated = 0;
  for (FieldReader field(message, source, "an attribute"); field.next();) {
    note_single_value(field, attribute);
    if (field.number() == attribute_field::kKind) stated = field.integer();
    const AttributeKind kind = kind_of_field(field.number());
    if (kind != AttributeKind::Undefined) attribute.present |= 1u << static_cast<int>(kind);
  }
  settle_kind(stated, attribute);
  return attribute;
}

}  // namespace assay::onnx
