#include "assay/low_rank_measured.h"

#include "base/fail.h"
#include "optimize/prune/timed_version.h"

namespace assay {

MeasuredLowRank factorize_where_faster(const Graph& model, const LowRankOptions& options,
                                       const LowRankTiming& timing) {
  if (timing.runs == 0) fail_usage("layers are timed with at least one run");
  const LowRankResult all = factorize_linear_layers(model, options);
  MeasuredLowRank result;
  LowRankOptions chosen = options;
  chosen.layers.emplace();
  optimize::TimedVersion original(model, timing.bindings, timing.program);
  optimize::TimedVersion factorised(all.graph, timing.bindings, timing.program);
  for (std::size_t i = 0; i < timing.runs; ++i) {
    original.run();
    factorised.run();
  }
  for (const LowRankLayer& layer : all.layers) {
    TimedLowRankLayer timed{layer, original.layers_ms({layer.name}),
                            factorised.layers_ms({layer.name, layer.name + kLowRankSuffix})};
    timed.layer.factorised =
        layer.factorised && timed.factorised_ms < timed.original_ms * (1 - timing.worth);
    if (timed.layer.factorised) chosen.layers->insert(layer.name);
    result.layers.push_back(std::move(timed));
  }
  const bool takes_all = chosen.layers->size() == all.layers.size();
  result.graph = takes_all ? all.graph : factorize_linear_layers(model, chosen).graph;
  return result;
}

}  // namespace assay
