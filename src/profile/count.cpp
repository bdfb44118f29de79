#include "assay/count.h"

#include "profile/prepared.h"

namespace assay {

using namespace assay::profile;

namespace {

MemorySummary summarize(const Prepared& prepared) {
  const Graph& graph = prepared.inferred.graph;
  const MemoryPlan& plan = prepared.plan;
  MemorySummary summary;
  summary.stored_bytes = prepared.stored_bytes;
  summary.peak_activation_bytes = plan.arena_bytes;
  summary.lower_bound_bytes = plan.lower_bound_bytes;
  summary.computed_weight_bytes = plan.folded_bytes;
  summary.live_bytes = plan.live_bytes;
  NamedPlan named = named_plan(prepared);
  summary.steps = std::move(named.steps);
  summary.buffers = std::move(named.buffers);
  for (const ValueId id : plan.unplanned) summary.unplanned.push_back(graph.value(id).name);
  return summary;
}

}  // namespace

CountResult count_model(Graph graph, std::string name, const CountOptions& options) {
  Prepared prepared = prepare_model(std::move(graph), std::move(name), options);
  CountResult result;
  result.memory = summarize(prepared);
  result.model = std::move(prepared.model);
  result.stored_as = options.stored_as;
  result.cost = std::move(prepared.cost);
  result.warnings = std::move(prepared.warnings);
  return result;
}

}  // namespace assay
