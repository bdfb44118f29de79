// The one representation of a model: values, and nodes that compute values from values.
//
// A Graph owns its values and nodes in vectors; they refer to each other by typed index. Nodes are
// in execution order. A subgraph (the body of If, Loop, Scan) is a Graph of its own inside an
// attribute; what it uses of the graph around it is listed in `captures`. Graphs are values: copy
// one to change it, and the weights stay shared.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "assay/data_type.h"
#include "assay/shape.h"
#include "assay/tensor.h"

namespace assay {

// The domain of assay's own ops: those of backward passes.
inline constexpr std::string_view kOwnDomain = "assay";

template <typename Tag>
struct Index {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t number = kNone;

  bool is_valid() const { return number != kNone; }
  friend auto operator<=>(const Index&, const Index&) = default;
};
using ValueId = Index<struct ValueTag>;
using NodeId = Index<struct NodeTag>;

// The type of a value: almost always a tensor; sequences, optionals and maps hold an inner type.
struct ValueType {
  enum class Kind { Tensor, Sequence, Optional, Map, SparseTensor };

  Kind kind = Kind::Tensor;
  DataType element = DataType::Undefined;  // of a tensor; the key of a map
  std::optional<Shape> shape;              // nothing: even the rank is not known
  std::shared_ptr<const ValueType> inner;  // of a sequence, optional or map

  bool is_tensor() const { return kind == Kind::Tensor; }
  bool has_known_shape() const { return shape.has_value() && shape->is_known(); }
  std::string to_string() const;  // "float32[1x3x224x224]"
  friend bool operator==(const ValueType& a, const ValueType& b);
};

ValueType tensor_type(DataType element, std::optional<Shape> shape = std::nullopt);

struct Value {
  std::string name;
  ValueType type;

  friend bool operator==(const Value&, const Value&) = default;
};

class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

using AttributeValue =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<std::string>, Tensor, std::vector<Tensor>, GraphPtr,
                 std::vector<GraphPtr>, ValueType, std::vector<ValueType>>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

struct Node {
  std::string name;  // may be empty: then its first output names it
  std::string op;
  std::string domain;                // empty for the standard operators
  std::vector<ValueId> inputs = {};  // an invalid id is an optional input left out
  std::vector<ValueId> outputs = {};
  std::vector<Attribute> attributes = {};

  bool is_standard() const { return domain.empty(); }
  bool is(std::string_view standard_op) const { return is_standard() && op == standard_op; }
  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].is_valid(); }
  bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i].is_valid(); }

  const AttributeValue* find(std::string_view attribute) const;
  // The attribute as T, or nothing if absent; an attribute of another type is an Error naming both.
  template <typename T>
  const T* get(std::string_view attribute) const;
  std::int64_t int_or(std::string_view attribute, std::int64_t otherwise) const;
  float float_or(std::string_view attribute, float otherwise) const;
  std::string string_or(std::string_view attribute, std::string_view otherwise) const;
  std::vector<std::int64_t> ints_or(std::string_view attribute,
                                    std::vector<std::int64_t> otherwise) const;
  void set(std::string attribute, AttributeValue value);  // replaces one of that name
};

struct Initializer {
  ValueId value;
  Tensor tensor;
};

// `inner`, a value of the subgraph, is `outer`, a value of the graph around it.
struct Capture {
  ValueId outer;
  ValueId inner;
};

// State: what `output` holds after a run is what `input` holds in the next one.
struct Carried {
  ValueId input;
  ValueId output;

  friend bool operator==(const Carried&, const Carried&) = default;
};

// What a file says of itself; kept so that reading and writing lose nothing.
struct ModelInfo {
  std::int64_t ir_version = 8;
  std::string producer_name = "";
  std::string producer_version = "";
  std::string domain = "";
  std::int64_t model_version = 0;
  std::string doc = "";
  std::vector<std::pair<std::string, std::string>> metadata = {};

  friend bool operator==(const ModelInfo&, const ModelInfo&) = default;
};

class Graph {
 public:
  std::string name;
  std::string doc;
  ModelInfo info;                              // meaningful in a root graph
  std::map<std::string, std::int64_t> opsets;  // domain to version; "" is the standard domain

  ValueId add_value(std::string name, ValueType type = {});
  NodeId add_node(Node node);  // after all nodes so far; becomes the producer of its outputs
  void add_input(ValueId value) { inputs_.push_back(value); }
  void add_output(ValueId value) { outputs_.push_back(value); }
  void add_initializer(ValueId value, Tensor tensor);
  // An input and an output of one type: whoever runs the graph keeps the state from run to run.
  void carry(Carried state) { carried_.push_back(state); }
  void add_capture(Capture capture) { captures_.push_back(capture); }
  std::vector<Capture> take_captures() { return std::exchange(captures_, {}); }
  void reserve(std::size_t values, std::size_t nodes);
  // The declarations alone, with capacity for as many nodes: values with the same ids, inputs,
  // outputs, captures and state, but neither initializers nor nodes.
  Graph declarations() const;

  std::size_t value_count() const { return values_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  const Value& value(ValueId id) const { return values_[id.number]; }
  Value& value(ValueId id) { return values_[id.number]; }
  const Node& node(NodeId id) const { return nodes_[id.number]; }
  Node& node(NodeId id) { return nodes_[id.number]; }
  std::span<const Value> values() const { return values_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  std::span<const Initializer> initializers() const { return initializers_; }
  std::span<const Capture> captures() const { return captures_; }
  std::span<const Carried> carried() const { return carried_; }

  // The stored tensor of a value, or null if it has none.
  const Tensor* initializer(ValueId id) const;
  // The node that computes the value; invalid for inputs, initializers and captures.
  NodeId producer(ValueId id) const { return links_[id.number].producer; }
  std::optional<ValueId> find_value(std::string_view name) const;  // linear: for people, not loops
  std::int64_t opset(std::string_view domain = "") const;          // 0 if not imported
  // The node's name, or its first output's, or its op and number: what people see.
  std::string display_name(NodeId id) const;

 private:
  struct Links {
    NodeId producer;
    std::uint32_t initializer = ValueId::kNone;
  };

  std::vector<Value> values_;
  std::vector<Links> links_;  // one for each value
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<Initializer> initializers_;
  std::vector<Capture> captures_;
  std::vector<Carried> carried_;
};

// The nodes that read each value, in execution order; a node that reads it twice is listed once. A
// node also reads what its subgraphs capture.
std::vector<std::vector<NodeId>> consumers(const Graph& graph);

// Calls `visit` for every subgraph held by the node's attributes.
template <typename Visit>
void for_each_subgraph(const Node& node, Visit visit) {
  for (const auto& attribute : node.attributes) {
    if (const auto* one = std::get_if<GraphPtr>(&attribute.value)) visit(**one);
    if (const auto* many = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
      for (const auto& graph : *many) visit(*graph);
    }
  }
}

bool operator==(const Attribute& a, const Attribute& b);  // subgraphs compared by content
bool operator==(const Node& a, const Node& b);
// The same model: names, types, nodes, weights, in the same order.
bool operator==(const Graph& a, const Graph& b);

}  // namespace assay
