#include "assay/prune.h"

#include <algorithm>

#include "base/fail.h"
#include "transform/prune/cut.h"
#include "transform/prune/plan.h"

namespace assay {

using namespace assay::transform;

namespace {

constexpr const char* kQuantizedOps[] = {
    "QuantizeLinear", "DequantizeLinear",      "DynamicQuantizeLinear", "QLinearConv",
    "QLinearMatMul",  "ConvInteger",           "MatMulInteger",         "MatMulNBits",
    "QLinearAdd",     "DynamicQuantizeMatMul", "MatMulIntegerToFloat",  "QLinearConcat",
    "QAttention",     "DynamicQuantizeLSTM"};

void refuse_quantized(const Graph& model) {
  for (std::uint32_t i = 0; i < model.node_count(); ++i) {
    const Node& node = model.node(NodeId{i});
    if (std::ranges::find(kQuantizedOps, node.op) != std::end(kQuantizedOps))
      fail_bad_input(
          "{} '{}': the model is quantised already; prune the float model, then quantise", node.op,
          model.display_name(NodeId{i}));
  }
}

void check_prune_options(const PruneOptions& options) {
  if (!(options.level >= 0 && options.level < 1))
    fail_usage("a pruning level of {} is not possible: it is a share from 0 to below 1",
               options.level);
  if (options.round_to < 1)
    fail_usage("widths cannot be multiples of {}: choose 1 or more", options.round_to);
}

}  // namespace

std::string_view name(PruneCriterion criterion) {
  switch (criterion) {
    case PruneCriterion::L1:
      return "l1";
    case PruneCriterion::L2:
      return "l2";
    case PruneCriterion::BatchNormScale:
      return "batch-norm";
    case PruneCriterion::Activation:
      return "activation";
  }
  return "";
}

PruneCriterion prune_criterion_named(std::string_view wanted) {
  for (const auto criterion : {PruneCriterion::L1, PruneCriterion::L2,
                               PruneCriterion::BatchNormScale, PruneCriterion::Activation}) {
    if (name(criterion) == wanted) return criterion;
  }
  fail_usage("there is no pruning criterion '{}': choose l1, l2, batch-norm or activation", wanted);
}

std::string_view name(PruneRanking ranking) {
  return ranking == PruneRanking::Uniform ? "uniform" : "global";
}

PruneRanking prune_ranking_named(std::string_view wanted) {
  for (const auto ranking : {PruneRanking::Uniform, PruneRanking::Global}) {
    if (name(ranking) == wanted) return ranking;
  }
  fail_usage("there is no ranking '{}': choose uniform or global", wanted);
}

std::vector<PrunedGroup> prune_groups(const Graph& model, const Bindings& bindings) {
  const FollowedModel followed(model, bindings);
  std::vector<PrunedGroup> result;
  for (const ChannelGroup& group : followed.groups) result.push_back(described(group));
  return result;
}

std::vector<ObservedValue> values_to_observe(const Graph& model, const Bindings& bindings) {
  const FollowedModel followed(model, bindings);
  std::vector<ObservedValue> observed;
  for (const ChannelGroup& group : followed.groups) {
    if (!group.frozen.empty()) continue;
    for (const std::size_t source : group.sources) {
      const auto made = made_axis(followed.flow, followed.flow.sources()[source]);
      if (made)
        observed.push_back({followed.inferred.graph.value(made->value).name, made->axis,
                            followed.flow.rank(made->value)});
    }
  }
  return observed;
}

PruneResult prune_model(const Graph& model, const PruneOptions& options) {
  check_prune_options(options);
  refuse_quantized(model);
  const FollowedModel followed(model, options.bindings);
  PrunePlan plan = plan_pruning(followed, options);
  return {cut_channels(followed.model, followed.inferred, plan.kept), std::move(plan.groups),
          std::move(plan.warnings)};
}

Graph structured_channel_prune(const Graph& model, double level) {
  return prune_model(model, {.level = level}).graph;
}

}  // namespace assay
