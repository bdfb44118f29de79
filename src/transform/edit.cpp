#include "transform/edit.h"

#include <algorithm>

namespace assay::transform {

namespace {

Rewritten unchanged(Inferred model) {
  Rewritten start;
  for (std::uint32_t i = 0; i < model.graph.node_count(); ++i) start.origins.push_back({NodeId{i}});
  start.model = std::move(model);
  return start;
}

}  // namespace

GraphEdit::GraphEdit(Inferred model) : GraphEdit(unchanged(std::move(model))) {}

GraphEdit::GraphEdit(Rewritten start)
    : model_(std::move(start.model)),
      alive_(model_.graph.node_count(), true),
      visible_(model_.graph.value_count(), false),
      readers_(consumers(model_.graph)),
      origins_(std::move(start.origins)) {
  model_.known.resize(model_.graph.value_count());
  for (const ValueId output : model_.graph.outputs()) visible_[output.number] = true;
  for (std::uint32_t i = 0; i < origins_.size(); ++i) {
    for_each_subgraph(model_.graph.node(NodeId{i}), [&](const Graph& body) {
      for (const Capture& capture : body.captures()) visible_[capture.outer.number] = true;
    });
  }
}

NodeId GraphEdit::maker_id(ValueId id) const {
  if (!id.is_valid()) return {};
  const NodeId maker = model_.graph.producer(id);
  return maker.is_valid() && alive_[maker.number] ? maker : NodeId{};
}

const Node* GraphEdit::maker(ValueId id) const {
  const NodeId found = maker_id(id);
  return found.is_valid() ? &model_.graph.node(found) : nullptr;
}

const Tensor* GraphEdit::constant(ValueId id) const {
  if (!id.is_valid()) return nullptr;
  if (const Tensor* stored = model_.graph.initializer(id)) return stored;
  return model_.known_value(id);
}

std::optional<double> GraphEdit::number(ValueId id) const {
  const Tensor* tensor = constant(id);
  if (tensor == nullptr || tensor->elements() != 1 || tensor->type() == DataType::String) return {};
  return tensor->to_double().front();
}

std::size_t GraphEdit::readers(ValueId id) const {
  return readers_[id.number].size() + (visible_[id.number] ? 1 : 0);
}

NodeId GraphEdit::only_reader(ValueId id) const {
  return readers(id) == 1 && !visible_[id.number] ? readers_[id.number].front() : NodeId{};
}

ValueId GraphEdit::add_constant(const std::string& name, Tensor tensor) {
  const ValueId id = model_.graph.add_value(name, tensor_type(tensor.type(), Shape(tensor.dims())));
  model_.known.emplace_back();
  visible_.push_back(false);
  readers_.emplace_back();
  model_.graph.add_initializer(id, std::move(tensor));
  return id;
}

void GraphEdit::set_constant(ValueId id, Tensor tensor) {
  model_.known[id.number] = std::move(tensor);
}

void GraphEdit::replace_value(ValueId from, ValueId to) {
  for (const NodeId reader : readers_[from.number]) {
    std::ranges::replace(model_.graph.node(reader).inputs, from, to);
    auto& known = readers_[to.number];
    if (std::ranges::find(known, reader) == known.end()) known.push_back(reader);
  }
  readers_[from.number].clear();
}

void GraphEdit::drop_reader(ValueId value, NodeId reader) {
  if (value.is_valid()) std::erase(readers_[value.number], reader);
}

void GraphEdit::unlink(NodeId id) {
  for (const ValueId input : model_.graph.node(id).inputs) drop_reader(input, id);
}

void GraphEdit::set_element_type(ValueId id, DataType type) {
  model_.graph.value(id).type.element = type;
}

void GraphEdit::set_node(NodeId id, Node node) {
  unlink(id);
  for (const ValueId input : node.inputs) {
    if (!input.is_valid()) continue;
    auto& known = readers_[input.number];
    if (std::ranges::find(known, id) == known.end()) known.push_back(id);
  }
  model_.graph.node(id) = std::move(node);
}

void GraphEdit::remove(NodeId id) {
  unlink(id);
  alive_[id.number] = false;
}

void GraphEdit::absorb(NodeId id, NodeId into) {
  remove(id);
  auto& origins = origins_[into.number];
  origins.insert(origins.end(), origins_[id.number].begin(), origins_[id.number].end());
  std::ranges::sort(origins);
}

namespace {

// Which values the live nodes and the outputs need.
std::vector<bool> needed_values(const Graph& graph, const std::vector<bool>& alive,
                                const std::vector<bool>& visible) {
  std::vector<bool> needed = visible;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    if (!alive[i]) continue;
    for (const ValueId input : graph.node(NodeId{i}).inputs) {
      if (input.is_valid()) needed[input.number] = true;
    }
  }
  return needed;
}

}  // namespace

Rewritten GraphEdit::finish() && {
  const Graph& old = model_.graph;
  const auto needed = needed_values(old, alive_, visible_);
  Graph graph = old.declarations();
  for (const auto& [value, tensor] : old.initializers()) {
    if (needed[value.number]) graph.add_initializer(value, tensor);
  }
  Rewritten result;
  for (std::uint32_t i = 0; i < old.node_count(); ++i) {
    if (!alive_[i]) continue;
    graph.add_node(std::move(model_.graph.node(NodeId{i})));
    result.origins.push_back(std::move(origins_[i]));
  }
  model_.graph = std::move(graph);
  result.model = std::move(model_);
  return result;
}

}  // namespace assay::transform
