// Replaces an `If` whose condition is known by the nodes of the branch it takes.
#include "infer/inference.h"

namespace assay::infer {

Graph with_captures_moved(const Graph& graph, const std::vector<ValueId>& mapped) {
  Graph moved = graph.declarations();
  for (Capture& capture : moved.take_captures()) {
    moved.add_capture({mapped[capture.outer.number], capture.inner});
  }
  for (const auto& [id, tensor] : graph.initializers()) moved.add_initializer(id, tensor);
  for (const Node& node : graph.nodes()) moved.add_node(node);
  return moved;
}

std::optional<bool> Inference::known_condition(const Node& node) const {
  if (!node.is("If") || !node.has_input(0)) return std::nullopt;
  const Tensor* condition = known_value(node.inputs[0]);
  if (condition == nullptr || condition->elements() != 1) return std::nullopt;
  return condition->to_int64().front() != 0;
}

std::string Inference::unique_name(const std::string& wanted) {
  if (names_.empty()) {
    for (const Value& value : result_.values()) names_.insert(value.name);
  }
  std::string name = wanted;
  while (!names_.insert(name).second) name = fmt::format("{}_{}", wanted, ++suffix_);
  return name;
}

ValueId Inference::new_value(const std::string& name, ValueType type) {
  known_.emplace_back();
  return result_.add_value(unique_name(name), std::move(type));
}

// The new value for each value of the branch. An output that the branch computes is the
// output of the `If` itself.
std::vector<ValueId> Inference::values_of_branch(const Graph& branch, const Node& node) {
  std::vector<ValueId> mapped(branch.value_count());
  for (const Capture& capture : branch.captures()) mapped[capture.inner.number] = capture.outer;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = branch.outputs()[i];
    const bool is_computed = branch.producer(output).is_valid();
    if (is_computed && !mapped[output.number].is_valid()) mapped[output.number] = node.outputs[i];
  }
  for (std::uint32_t i = 0; i < branch.value_count(); ++i) {
    if (mapped[i].is_valid()) continue;
    const Value& value = branch.value(ValueId{i});
    mapped[i] = new_value(value.name, value.type);
  }
  for (const auto& [id, tensor] : branch.initializers()) {
    result_.add_initializer(mapped[id.number], tensor);
    set_known(mapped[id.number], tensor);
  }
  return mapped;
}

Node Inference::moved_node(const Node& node, const std::vector<ValueId>& mapped) const {
  Node moved = node;
  for (ValueId& id : moved.inputs) id = id.is_valid() ? mapped[id.number] : id;
  for (ValueId& id : moved.outputs) id = id.is_valid() ? mapped[id.number] : id;
  for (Attribute& attribute : moved.attributes) {
    if (auto* one = std::get_if<GraphPtr>(&attribute.value)) {
      *one = std::make_shared<const Graph>(with_captures_moved(**one, mapped));
    }
    if (auto* many = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
      for (auto& graph : *many)
        graph = std::make_shared<const Graph>(with_captures_moved(*graph, mapped));
    }
  }
  return moved;
}

void Inference::inline_branch(const Node& node, bool condition) {
  const auto* attribute = node.get<GraphPtr>(condition ? "then_branch" : "else_branch");
  const auto* other = node.get<GraphPtr>(condition ? "else_branch" : "then_branch");
  if (other != nullptr && *other != nullptr) limits_.findings.not_run.push_back(*other);
  const std::string described = fmt::format("If '{}'", node_name(result_, node));
  if (attribute == nullptr || *attribute == nullptr)
    fail_bad_input("{}: the branch to take is missing", described);
  const Graph& branch = **attribute;
  if (branch.outputs().size() < node.outputs.size()) {
    fail_bad_input("{}: the branch has {} outputs, the node {}", described, branch.outputs().size(),
                   node.outputs.size());
  }
  enter_subgraph();
  const auto mapped = values_of_branch(branch, node);
  for (const Node& inner : branch.nodes()) visit(moved_node(inner, mapped));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId from = mapped[branch.outputs()[i].number];
    if (!node.has_output(i) || from == node.outputs[i]) continue;
    visit(Node{.name = "",
               .op = "Identity",
               .domain = "",
               .inputs = {from},
               .outputs = {node.outputs[i]}});
  }
  --depth_;
}

}  // namespace assay::infer
