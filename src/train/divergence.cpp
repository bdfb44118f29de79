#include "train/divergence.h"

#include <fmt/core.h>

#include <map>
#include <set>

#include "assay/infer.h"
#include "train/weights.h"

namespace assay::train {

namespace {

// Every intermediate value becomes an output, which also prevents fusion.
Graph with_all_values_as_outputs(Graph graph) {
  std::set<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  const std::size_t nodes = graph.node_count();
  for (std::uint32_t i = 0; i < nodes; ++i) {
    for (const ValueId value : std::vector(graph.node(NodeId{i}).outputs)) {
      if (!value.is_valid() || !is_floating(graph.value(value).type.element)) continue;
      if (outputs.insert(value).second) graph.add_output(value);
    }
  }
  return graph;
}

std::string described(const Graph& model, const TrainingStep& step, std::size_t node) {
  const NodeId layer = step.layers[node];
  const bool is_forward = step.phases[node] <= Phase::Recompute;
  if (!layer.is_valid()) return is_forward ? "the loss" : "the gradient of the loss";
  return fmt::format("the {} layer '{}'", is_forward ? "output of" : "gradient at",
                     model.display_name(layer));
}

}  // namespace

std::string first_not_finite_in(const Graph& model, const TrainingStep& step,
                                std::span<const Tensor> state, std::span<const Tensor> inputs,
                                const ProgramOptions& options) {
  const auto program = compile(infer_shapes(with_all_values_as_outputs(step.graph)), options);
  program->set_state(state);
  program->set_inputs(inputs);
  program->run();
  const auto results = program->results();
  std::map<std::string, bool> finite;
  for (std::size_t i = 0; i < results.size(); ++i) {
    finite[program->outputs()[i].name] = is_finite(results[i]);
  }
  for (std::size_t i = 0; i < step.graph.node_count(); ++i) {
    for (const ValueId value : step.graph.nodes()[i].outputs) {
      if (!value.is_valid()) continue;
      const auto found = finite.find(step.graph.value(value).name);
      if (found != finite.end() && !found->second) return described(model, step, i);
    }
  }
  const auto after = first_not_finite(program->state_values());
  if (!after) return "the sum of several finite numbers";
  return fmt::format("the update of '{}'", step.state[*after].name);
}

}  // namespace assay::train
