// The part of GraphReader that turns NodeProtos into nodes.
#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/fail.h"
#include "graph/constant_node.h"
#include "graph/newer_opsets.h"
#include "onnx_io/attribute_reader.h"
#include "onnx_io/graph_reader.h"

namespace assay::onnx {

std::string described(const NodeFields& node) {
  return fmt::format("{} '{}'", node.op, node.display_name());
}

namespace {

constexpr std::size_t kMostSubgraphs = 100'000;

// The bytes of the tensors among the attributes that are viewed in the file rather than copied.
std::size_t viewed_bytes(const Node& node, const Source& source) {
  std::size_t total = 0;
  for (const auto& attribute : node.attributes) {
    const auto* tensor = std::get_if<Tensor>(&attribute.value);
    if (tensor == nullptr || tensor->byte_size() == 0) continue;
    const auto* data = reinterpret_cast<const char*>(tensor->bytes().data());
    const bool is_viewed = std::less_equal<>()(source.bytes.data(), data) &&
                           std::less<>()(data, source.bytes.data() + source.bytes.size());
    if (is_viewed) total += tensor->byte_size();
  }
  return total;
}

bool has_repeated_name(std::span<const Attribute> attributes) {
  constexpr std::size_t kFew = 16;  // Comparing all pairs is quicker than a set up to here.
  if (attributes.size() <= kFew) {
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (attributes[i].name == attributes[k].name) return true;
      }
    }
    return false;
  }
  std::unordered_set<std::string_view> names;
  return std::ranges::any_of(
      attributes, [&](const Attribute& attribute) { return !names.insert(attribute.name).second; });
}

// A Constant that is a graph output itself stays a node, so that the output has a producer.
bool becomes_initializer(const NodeFields& fields, const Scope& scope) {
  if (fields.op != "Constant" || !fields.domain.empty()) return false;
  if (fields.outputs.size() != 1 || fields.outputs[0].empty()) {
    fail_bad_input("{} has {} outputs, expected one", described(fields), fields.outputs.size());
  }
  const Scope::Name* output = scope.known(fields.outputs[0]);
  return output == nullptr || !output->is_graph_output;
}

bool is_graph(const AttributeFields& attribute) {
  return attribute.kind == AttributeKind::Graph || attribute.kind == AttributeKind::Graphs;
}

// Runs `action`; an error it throws is prefixed with the node's name.
template <typename Action>
auto naming(const NodeFields& fields, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", described(fields), error.what()));
  }
}

}  // namespace

void GraphReader::read_node(std::string_view message, Scope& scope) {
  const Borrowed<NodeFields> borrowed(fields_pool_);
  NodeFields& fields = borrowed.get();
  read_node_fields(message, source_, fields);
  if (scope.call() != nullptr) budget_.spend(1, 0);
  if (const Function* function = functions_.find(fields)) {
    if (scope.call() != nullptr) budget_.spend(0, message.size());
    inline_call(fields, *function, scope);
  } else {
    check_operator_set(fields, scope);
    read_operator(fields, scope, message.size());
  }
}

void GraphReader::read_operator(const NodeFields& fields, Scope& scope, std::size_t message_size) {
  Node node{.name = "", .op = std::string(fields.op), .domain = std::string(fields.domain)};
  if (!fields.name.empty()) node.name = scope.prefix() + std::string(fields.name);
  node.inputs.reserve(fields.inputs.size());
  for (const auto input : fields.inputs) node.inputs.push_back(scope.read(input));
  read_attributes(fields, scope, node);
  check_form(fields, node);
  if (scope.call() != nullptr) {
    budget_.spend(0, message_size - std::min(message_size, viewed_bytes(node, source_)));
  }
  if (becomes_initializer(fields, scope)) {
    Tensor tensor = graph::constant_tensor(node);
    scope.graph().add_initializer(scope.define(fields.outputs[0]), std::move(tensor));
    return;
  }
  node.outputs.reserve(fields.outputs.size());
  for (const auto output : fields.outputs) {
    node.outputs.push_back(output.empty() ? ValueId() : scope.define(output));
  }
  scope.graph().add_node(std::move(node));
}

// What newer operator sets changed is refused; what they left as it was is read.
void GraphReader::check_form(const NodeFields& fields, const Node& node) const {
  const auto standard = opsets_.find("");
  if (standard == opsets_.end() || standard->second <= graph::kNewestOpset) return;
  const auto form = graph::newer_form(node);
  if (!form) return;
  fail_bad_input(
      "{} has {}, which assay does not know: re-export it with opset_version={} or lower",
      described(fields), *form, graph::kNewestOpset);
}

void GraphReader::read_attributes(const NodeFields& fields, Scope& scope, Node& node) {
  node.attributes.reserve(fields.attributes.size());
  for (const auto message : fields.attributes) {
    const auto attribute = naming(fields, [&] { return resolved(message, scope); });
    if (!attribute) continue;
    AttributeValue value;
    if (is_graph(*attribute)) {
      const Level level(*this, fmt::format("{} {}", described(fields), attribute->name));
      value = read_subgraphs(*attribute, scope);
    } else {
      value = naming(fields, [&] { return read_attribute_value(*attribute, source_, external_); });
    }
    node.attributes.push_back({std::string(attribute->name), std::move(value)});
  }
  if (has_repeated_name(node.attributes)) {
    fail_bad_input("{}: an attribute is given twice", described(fields));
  }
}

// A reference to an attribute of the function being inlined becomes what the call gives for it;
// nothing if the call gives nothing and the function has no default.
std::optional<AttributeFields> GraphReader::resolved(std::string_view message,
                                                     const Scope& scope) const {
  AttributeFields fields = read_attribute_fields(message, source_);
  if (fields.reference.empty()) return fields;
  if (scope.call() == nullptr) {
    fail_bad_input("attribute '{}' refers to '{}' of a function, but stands in none", fields.name,
                   fields.reference);
  }
  const std::string_view given = scope.call()->attribute(fields.reference);
  if (given.empty()) return std::nullopt;
  AttributeFields target = read_attribute_fields(given, source_);
  if (!target.reference.empty() || is_graph(target)) {
    fail_bad_input(
        "attribute '{}' of a function is a graph or a reference, which cannot be inlined",
        fields.reference);
  }
  target.name = fields.name;
  return target;
}

AttributeValue GraphReader::read_subgraphs(const AttributeFields& attribute, Scope& scope) {
  if (attribute.kind == AttributeKind::Graph) {
    if (attribute.has(AttributeKind::Graph)) return read_subgraph(attribute.graph, scope);
    fail_bad_input("attribute '{}' has no value", attribute.name);
  }
  std::vector<GraphPtr> graphs;
  for (FieldReader field(attribute.message, source_, "an attribute"); field.next();) {
    if (field.number() != attribute_field::kGraphs) continue;
    graphs.push_back(read_subgraph(field.bytes(), scope));
  }
  return graphs;
}

GraphPtr GraphReader::read_subgraph(std::string_view message, Scope& scope) {
  if (++subgraphs_ > kMostSubgraphs) {
    fail_bad_input("it has more than {} subgraphs", kMostSubgraphs);
  }
  auto graph = std::make_shared<Graph>();
  const auto standard = opsets_.find("");
  if (standard != opsets_.end()) graph->opsets.insert(*standard);
  read_graph(message, *graph, &scope);
  return graph;
}

void GraphReader::check_operator_set(const NodeFields& fields, const Scope& scope) const {
  if (!fields.domain.empty()) return;
  const auto standard = opsets_.find("");
  if (standard == opsets_.end()) {
    fail_bad_input("{} is a standard operator, but the model imports no standard operator set",
                   described(fields));
  }
  if (scope.call() == nullptr) return;
  const Function& function = *scope.call()->function;
  const auto own = function.opsets.find("");
  if (own == function.opsets.end() || own->second == standard->second) return;
  fail_bad_input(
      "function '{}' uses operator set {}, the model {}: export both with the same opset_version",
      function.name, own->second, standard->second);
}

}  // namespace assay::onnx
