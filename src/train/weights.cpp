#include "train/weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/fail.h"

namespace assay::train {

namespace {

bool belongs_to_model(const StateSlot& slot) {
  return slot.kind != StateSlot::Kind::Optimizer;
}

}  // namespace

std::vector<Tensor> initial_state(const TrainingStep& step) {
  std::vector<Tensor> state;
  for (const StateSlot& slot : step.state) state.push_back(slot.initial);
  return state;
}

std::vector<Tensor> model_weights(const TrainingStep& step, std::span<const Tensor> state) {
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < step.state.size(); ++i) {
    if (belongs_to_model(step.state[i])) weights.push_back(state[i]);
  }
  return weights;
}

Graph with_weights(const Graph& graph, const TrainingStep& step, std::span<const Tensor> weights) {
  std::map<std::string, Tensor> trained;
  auto next_weight = weights.begin();
  for (const StateSlot& slot : step.state) {
    if (belongs_to_model(slot)) trained[slot.name] = *next_weight++;
  }
  Graph next = graph.declarations();
  for (const auto& [value, tensor] : graph.initializers()) {
    const auto found = trained.find(graph.value(value).name);
    next.add_initializer(value, found == trained.end() ? tensor : found->second);
  }
  for (const Node& node : graph.nodes()) next.add_node(node);
  return next;
}

void check_weights_can_return(const Graph& graph, const TrainingStep& step) {
  std::set<std::string> stored;
  for (const auto& [value, tensor] : graph.initializers()) stored.insert(graph.value(value).name);
  for (const StateSlot& slot : step.state) {
    if (!belongs_to_model(slot) || stored.contains(slot.name)) continue;
    fail_bad_input(
        "parameter '{}' is stored inside a branch of an If, where training cannot put it back; "
        "export the model without the If",
        slot.name);
  }
}

bool is_finite(const Tensor& tensor) {
  if (tensor.type() == DataType::Float32) {
    const auto numbers = tensor.to_vector<float>();
    return std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); });
  }
  if (!is_floating(tensor.type())) return true;
  return std::ranges::all_of(tensor.to_double(),
                             [](double number) { return std::isfinite(number); });
}

std::optional<std::size_t> first_not_finite(std::span<const Tensor> tensors) {
  const auto found = std::ranges::find_if_not(tensors, is_finite);
  if (found == tensors.end()) return std::nullopt;
  return static_cast<std::size_t>(found - tensors.begin());
}

}  // namespace assay::train
