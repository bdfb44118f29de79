#include "execute/value_facts.h"

#include "transform/cast_precision.h"

namespace assay::execute {

ValueFacts::ValueFacts(const Inferred& model)
    : model_(model),
      readers_(consumers(model.graph)),
      is_visible_(model.graph.value_count(), false),
      is_state_(model.graph.value_count(), false) {
  for (const ValueId output : graph().outputs()) is_visible_[output.number] = true;
  for (const Carried& state : graph().carried()) is_state_[state.input.number] = true;
  for (const Node& node : graph().nodes()) {
    for_each_subgraph(node, [&](const Graph& body) {
      for (const Capture& capture : body.captures()) is_visible_[capture.outer.number] = true;
    });
  }
}

const Tensor* ValueFacts::constant(ValueId id) const {
  if (!id.is_valid()) return nullptr;
  if (const Tensor* stored = graph().initializer(id)) return stored;
  return model_.known_value(id);
}

std::optional<double> ValueFacts::number(ValueId id) const {
  const Tensor* tensor = constant(id);
  if (tensor == nullptr || tensor->elements() != 1 || tensor->type() == DataType::String) return {};
  return tensor->to_double().front();
}

bool ValueFacts::is_dynamic(ValueId id) const {
  const ValueType& type = graph().value(id).type;
  return constant(id) == nullptr &&
         (!type.is_tensor() || !type.has_known_shape() || bits(type.element) < 8);
}

DataType ValueFacts::type(ValueId id) const {
  if (const Tensor* tensor = constant(id)) return tensor->type();
  return graph().value(id).type.element;
}

bool ValueFacts::is_float(ValueId id) const {
  return id.is_valid() && !is_dynamic(id) && type(id) == DataType::Float32;
}

bool ValueFacts::is_real(ValueId id) const {
  return id.is_valid() && !is_dynamic(id) &&
         (type(id) == DataType::Float32 || transform::is_half(type(id)));
}

std::vector<std::int64_t> ValueFacts::dims(ValueId id) const {
  if (const Tensor* tensor = constant(id)) return tensor->dims();
  return graph().value(id).type.shape->values();
}

NodeId ValueFacts::only_reader(ValueId id) const {
  return readers(id).size() == 1 && !is_visible(id) ? readers(id).front() : NodeId{};
}

}  // namespace assay::execute
