// What an optimizer does to one parameter, as a node.
#include "transform/training/parts.h"

namespace assay::transform {

namespace {

const char* op_of(OptimizerKind kind) {
  if (kind == OptimizerKind::Sgd) return "Sgd";
  return kind == OptimizerKind::Momentum ? "Momentum" : "Adam";
}

std::vector<Attribute> attributes_of(const Optimizer& optimizer) {
  const auto number = [](double value) { return static_cast<float>(value); };
  std::vector<Attribute> attributes = {{"weight_decay", number(optimizer.weight_decay)}};
  switch (optimizer.kind) {
    case OptimizerKind::Sgd:
      break;
    case OptimizerKind::Momentum:
      attributes.push_back({"momentum", number(optimizer.momentum)});
      break;
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW:
      attributes.push_back({"beta1", number(optimizer.beta1)});
      attributes.push_back({"beta2", number(optimizer.beta2)});
      attributes.push_back({"epsilon", number(optimizer.epsilon)});
      const bool is_decoupled = optimizer.kind == OptimizerKind::AdamW;
      attributes.push_back({"decoupled", std::int64_t{is_decoupled ? 1 : 0}});
      break;
  }
  return attributes;
}

}  // namespace

Update update_of(Graph& graph, const Optimizer& optimizer, const UpdateInputs& inputs) {
  const Value parameter = graph.value(inputs.parameter);
  const auto add = [&](const char* suffix) {
    return graph.add_value(unused_name(graph, parameter.name + suffix), parameter.type);
  };
  Update update;
  update.node = {.name = parameter.name + "/update",
                 .op = op_of(optimizer.kind),
                 .domain = std::string(kOwnDomain),
                 .inputs = {inputs.rate, inputs.step, inputs.parameter, inputs.gradient},
                 .outputs = {add("/next")},
                 .attributes = attributes_of(optimizer)};
  update.carried.push_back({inputs.parameter, update.node.outputs[0]});
  static constexpr const char* kStates[] = {"/moment", "/square"};
  for (std::size_t i = 0; i < states_of(optimizer.kind); ++i) {
    const ValueId state = add(kStates[i]);
    const ValueId next = add((std::string(kStates[i]) + "/next").c_str());
    update.node.inputs.push_back(state);
    update.node.outputs.push_back(next);
    update.carried.push_back({state, next});
  }
  return update;
}

}  // namespace assay::transform
