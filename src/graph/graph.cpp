#include "assay/graph.h"

#include <algorithm>

#include "base/fail.h"

namespace assay {

std::string ValueType::to_string() const {
  switch (kind) {
    case Kind::Sequence:
      return fmt::format("sequence({})", inner ? inner->to_string() : "?");
    case Kind::Optional:
      return fmt::format("optional({})", inner ? inner->to_string() : "?");
    case Kind::Map:
      return fmt::format("map({}, {})", assay::name(element), inner ? inner->to_string() : "?");
    case Kind::SparseTensor:
    case Kind::Tensor:
      break;
  }
  const char* sparse = kind == Kind::SparseTensor ? "sparse " : "";
  return fmt::format("{}{}[{}]", sparse, assay::name(element),
                     !shape               ? "..."
                     : shape->rank() == 0 ? ""
                                          : shape->to_string());
}

bool operator==(const ValueType& a, const ValueType& b) {
  if (a.kind != b.kind || a.element != b.element || a.shape != b.shape) return false;
  if (a.inner == nullptr || b.inner == nullptr) return a.inner == b.inner;
  return *a.inner == *b.inner;
}

ValueType tensor_type(DataType element, std::optional<Shape> shape) {
  ValueType type;
  type.element = element;
  type.shape = std::move(shape);
  return type;
}

const AttributeValue* Node::find(std::string_view attribute) const {
  for (const auto& candidate : attributes) {
    if (candidate.name == attribute) return &candidate.value;
  }
  return nullptr;
}

template <typename T>
const T* Node::get(std::string_view attribute) const {
  const AttributeValue* value = find(attribute);
  if (value == nullptr) return nullptr;
  if (const T* typed = std::get_if<T>(value)) return typed;
  fail_bad_input("{} '{}': attribute '{}' has the wrong type", op, name, attribute);
}

template const std::int64_t* Node::get(std::string_view) const;
template const float* Node::get(std::string_view) const;
template const std::string* Node::get(std::string_view) const;
template const std::vector<std::int64_t>* Node::get(std::string_view) const;
template const std::vector<float>* Node::get(std::string_view) const;
template const std::vector<std::string>* Node::get(std::string_view) const;
template const Tensor* Node::get(std::string_view) const;
template const std::vector<Tensor>* Node::get(std::string_view) const;
template const GraphPtr* Node::get(std::string_view) const;
template const std::vector<GraphPtr>* Node::get(std::string_view) const;
template const ValueType* Node::get(std::string_view) const;
template const std::vector<ValueType>* Node::get(std::string_view) const;

std::int64_t Node::int_or(std::string_view attribute, std::int64_t otherwise) const {
  const auto* value = get<std::int64_t>(attribute);
  return value ? *value : otherwise;
}

float Node::float_or(std::string_view attribute, float otherwise) const {
  const auto* value = get<float>(attribute);
  return value ? *value : otherwise;
}

std::string Node::string_or(std::string_view attribute, std::string_view otherwise) const {
  const auto* value = get<std::string>(attribute);
  return value ? *value : std::string(otherwise);
}

std::vector<std::int64_t> Node::ints_or(std::string_view attribute,
                                        std::vector<std::int64_t> otherwise) const {
  const auto* value = get<std::vector<std::int64_t>>(attribute);
  if (value) return *value;
  return otherwise;
}

void Node::set(std::string attribute, AttributeValue value) {
  for (auto& existing : attributes) {
    if (existing.name != attribute) continue;
    existing.value = std::move(value);
    return;
  }
  attributes.push_back({std::move(attribute), std::move(value)});
}

ValueId Graph::add_value(std::string value_name, ValueType type) {
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  values_.push_back({std::move(value_name), std::move(type)});
  links_.emplace_back();
  return id;
}

NodeId Graph::add_node(Node node) {
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  for (const ValueId output : node.outputs) {
    if (output.is_valid()) links_[output.number].producer = id;
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::add_initializer(ValueId id, Tensor tensor) {
  values_[id.number].type = tensor_type(tensor.type(), tensor.shape());
  links_[id.number].initializer = static_cast<std::uint32_t>(initializers_.size());
  initializers_.push_back({id, std::move(tensor)});
}

void Graph::reserve(std::size_t values, std::size_t nodes) {
  values_.reserve(values);
  links_.reserve(values);
  nodes_.reserve(nodes);
}

Graph Graph::declarations() const {
  Graph declared;
  declared.name = name;
  declared.doc = doc;
  declared.info = info;
  declared.opsets = opsets;
  declared.reserve(value_count(), node_count());
  for (const Value& value : values_) declared.add_value(value.name, value.type);
  declared.inputs_ = inputs_;
  declared.outputs_ = outputs_;
  declared.captures_ = captures_;
  declared.carried_ = carried_;
  return declared;
}

const Tensor* Graph::initializer(ValueId id) const {
  if (!id.is_valid()) return nullptr;
  const auto index = links_[id.number].initializer;
  return index == ValueId::kNone ? nullptr : &initializers_[index].tensor;
}

std::optional<ValueId> Graph::find_value(std::string_view wanted) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const Value& value) { return value.name == wanted; });
  if (found == values_.end()) return std::nullopt;
  return ValueId{static_cast<std::uint32_t>(found - values_.begin())};
}

std::int64_t Graph::opset(std::string_view domain) const {
  const auto found = opsets.find(std::string(domain));
  return found == opsets.end() ? 0 : found->second;
}

std::string Graph::display_name(NodeId id) const {
  const Node& wanted = node(id);
  if (!wanted.name.empty()) return wanted.name;
  for (const ValueId output : wanted.outputs) {
    if (output.is_valid()) return value(output).name;
  }
  return fmt::format("{}_{}", wanted.op, id.number);
}

std::vector<std::vector<NodeId>> consumers(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.value_count());
  const auto note = [&](ValueId value, NodeId reader) {
    if (!value.is_valid()) return;
    auto& list = readers[value.number];
    if (list.empty() || list.back() != reader) list.push_back(reader);
  };
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId{i});
    for (const ValueId input : node.inputs) note(input, NodeId{i});
    for_each_subgraph(node, [&](const Graph& subgraph) {
      for (const auto& capture : subgraph.captures()) note(capture.outer, NodeId{i});
    });
  }
  return readers;
}

namespace {

bool same_graph(const GraphPtr& a, const GraphPtr& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace

bool operator==(const Attribute& a, const Attribute& b) {
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  if (const auto* one = std::get_if<GraphPtr>(&a.value)) {
    return same_graph(*one, std::get<GraphPtr>(b.value));
  }
  if (const auto* many = std::get_if<std::vector<GraphPtr>>(&a.value)) {
    return std::ranges::equal(*many, std::get<std::vector<GraphPtr>>(b.value), same_graph);
  }
  return a.value == b.value;
}

bool operator==(const Node& a, const Node& b) {
  return a.name == b.name && a.op == b.op && a.domain == b.domain && a.inputs == b.inputs &&
         a.outputs == b.outputs && a.attributes == b.attributes;
}

bool operator==(const Graph& a, const Graph& b) {
  const auto same_capture = [](const Capture& x, const Capture& y) {
    return x.outer == y.outer && x.inner == y.inner;
  };
  const auto same_initializer = [](const Initializer& x, const Initializer& y) {
    return x.value == y.value && x.tensor == y.tensor;
  };
  return a.name == b.name && a.doc == b.doc && a.info == b.info && a.opsets == b.opsets &&
         std::ranges::equal(a.values(), b.values()) && std::ranges::equal(a.nodes(), b.nodes()) &&
         std::ranges::equal(a.inputs(), b.inputs()) &&
         std::ranges::equal(a.outputs(), b.outputs()) &&
         std::ranges::equal(a.captures(), b.captures(), same_capture) &&
         std::ranges::equal(a.carried(), b.carried()) &&
         std::ranges::equal(a.initializers(), b.initializers(), same_initializer);
}

}  // namespace assay
