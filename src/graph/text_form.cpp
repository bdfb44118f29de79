#include "assay/text_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay {

namespace {

std::string subgraph_text(const Graph& graph, int depth);

std::string attribute_text(const AttributeValue& value, int depth) {
  struct Printer {
    int depth = 0;
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(float number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return fmt::format("\"{}\"", text); }
    std::string operator()(const std::vector<std::int64_t>& list) const {
      return fmt::format("{}", list);
    }
    std::string operator()(const std::vector<float>& list) const { return fmt::format("{}", list); }
    std::string operator()(const std::vector<std::string>& list) const {
      return fmt::format("{}", list);
    }
    std::string operator()(const Tensor& tensor) const {
      return tensor_type(tensor.type(), tensor.shape()).to_string();
    }
    std::string operator()(const std::vector<Tensor>& list) const {
      return fmt::format("{} tensors", list.size());
    }
    std::string operator()(const GraphPtr& graph) const { return subgraph_text(*graph, depth + 1); }
    std::string operator()(const std::vector<GraphPtr>& list) const {
      return fmt::format("{} graphs", list.size());
    }
    std::string operator()(const ValueType& type) const { return type.to_string(); }
    std::string operator()(const std::vector<ValueType>& list) const {
      return fmt::format("{} types", list.size());
    }
  };
  return std::visit(Printer{depth}, value);
}

std::string typed(const Graph& graph, ValueId id) {
  if (!id.is_valid()) return "_";
  const Value& value = graph.value(id);
  return fmt::format("%{}: {}", value.name, value.type.to_string());
}

std::string typed_list(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<std::string> parts;
  for (const ValueId id : ids) parts.push_back(typed(graph, id));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string node_text(const Graph& graph, const Node& node, int depth) {
  std::vector<std::string> inputs;
  for (const ValueId id : node.inputs) {
    inputs.push_back(id.is_valid() ? "%" + graph.value(id).name : "_");
  }
  std::vector<std::string> attributes;
  for (const auto& attribute : node.attributes) {
    attributes.push_back(attribute.name + "=" + attribute_text(attribute.value, depth));
  }
  const std::string prefix = node.domain.empty() ? "" : node.domain + ".";
  std::string line = fmt::format("{} = {}{}({})", typed_list(graph, node.outputs), prefix, node.op,
                                 fmt::join(inputs, ", "));
  if (!attributes.empty()) line += fmt::format(" {{{}}}", fmt::join(attributes, ", "));
  if (!node.name.empty()) line += fmt::format(" \"{}\"", node.name);
  return line;
}

std::string body_text(const Graph& graph, int depth) {
  const std::string indent(static_cast<std::size_t>(2 * depth + 2), ' ');
  std::string text;
  for (const auto& capture : graph.captures()) {
    text += fmt::format("{}{} = capture\n", indent, typed(graph, capture.inner));
  }
  for (const auto& [id, tensor] : graph.initializers()) {
    text += fmt::format("{}{} = initializer\n", indent, typed(graph, id));
  }
  for (const auto& node : graph.nodes()) text += indent + node_text(graph, node, depth) + "\n";
  return text;
}

std::string subgraph_text(const Graph& graph, int depth) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  return fmt::format("graph ({}) -> ({}) {{\n{}{}}}", typed_list(graph, graph.inputs()),
                     typed_list(graph, graph.outputs()), body_text(graph, depth), indent);
}

}  // namespace

std::string to_text(const Graph& graph) {
  return fmt::format("graph {} ({}) -> ({}) opset {} {{\n{}}}\n", graph.name,
                     typed_list(graph, graph.inputs()), typed_list(graph, graph.outputs()),
                     graph.opset(), body_text(graph, 0));
}

}  // namespace assay
