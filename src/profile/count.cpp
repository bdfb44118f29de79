#include "assay/count.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay {

namespace {

std::vector<Value> values_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<Value> values;
  for (const ValueId id : ids) values.push_back(graph.value(id));
  return values;
}

MemorySummary summarize(const Graph& graph, const MemoryPlan& plan) {
  MemorySummary summary;
  summary.peak_activation_bytes = plan.arena_bytes;
  summary.lower_bound_bytes = plan.lower_bound_bytes;
  summary.computed_weight_bytes = plan.folded_bytes;
  summary.live_bytes = plan.live_bytes;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    summary.steps.push_back(graph.display_name(NodeId{i}));
  }
  for (const ValueId id : plan.unplanned) summary.unplanned.push_back(graph.value(id).name);
  return summary;
}

void check_input_values(const Graph& graph, const std::map<std::string, Tensor>& values) {
  for (const auto& [name, tensor] : values) {
    const auto is_it = [&](ValueId id) { return graph.value(id).name == name; };
    const auto found = std::ranges::find_if(graph.inputs(), is_it);
    if (found == graph.inputs().end()) fail_bad_input("the model has no input named '{}'", name);
    if (const DataType wanted = graph.value(*found).type.element; wanted != tensor.type()) {
      fail_bad_input("input '{}' is {}, the value given is {}", name, assay::name(wanted),
                     assay::name(tensor.type()));
    }
  }
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::string uncounted_warning(const CostSheet& cost) {
  std::set<std::string> ops;
  for (const auto& one : cost.uncounted) ops.insert(one.op);
  const std::vector<std::string> names(ops.begin(), ops.end());
  return fmt::format("{} {} not counted, so the totals are a lower bound: {}",
                     cost.uncounted.size(), cost.uncounted.size() == 1 ? "node was" : "nodes were",
                     join(names, ", "));
}

}  // namespace

CountResult count_model(Graph graph, std::string name, const CountOptions& options) {
  check_input_values(graph, options.input_values);
  BoundGraph bound = bind_inputs(std::move(graph), options.bindings);
  const Inferred inferred =
      infer_shapes(std::move(bound.graph), {.input_values = options.input_values});
  CountResult result;
  result.model = {.name = std::move(name),
                  .opset = inferred.graph.opset(),
                  .inputs = values_of(inferred.graph, inferred.graph.inputs()),
                  .outputs = values_of(inferred.graph, inferred.graph.outputs())};
  result.stored_as = options.stored_as;
  result.cost = count_costs(inferred, {.stored_as = options.stored_as});
  result.memory =
      summarize(inferred.graph, plan_memory(inferred, {.stored_as = options.stored_as}));
  const CostTotals& totals = result.cost.totals;
  result.memory.stored_bytes = saturating_add(
      totals.parameter_bytes, saturating_add(totals.statistics_bytes, totals.constants_bytes));
  append(result.warnings, bound.assumptions);
  append(result.warnings, inferred.warnings);
  append(result.warnings, result.cost.warnings);
  if (!result.cost.uncounted.empty()) result.warnings.push_back(uncounted_warning(result.cost));
  return result;
}

}  // namespace assay
