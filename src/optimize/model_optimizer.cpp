#include <algorithm>
#include <array>

#include "assay/optimize.h"
#include "base/fail.h"
#include "base/text.h"
#include "metrics/metered_energy.h"
#include "optimize/trials.h"

namespace assay {

using namespace assay::optimize;

namespace {

struct NamedPrecision {
  VariantPrecision precision;
  std::string_view name;
};

constexpr std::array<NamedPrecision, 7> kPrecisions = {{
    {VariantPrecision::AsStored, "fp32"},
    {VariantPrecision::Float16, "fp16"},
    {VariantPrecision::BFloat16, "bf16"},
    {VariantPrecision::WeightsInt8, "weights-int8"},
    {VariantPrecision::WeightsInt4, "weights-int4"},
    {VariantPrecision::Dynamic, "dynamic"},
    {VariantPrecision::Int8, "int8"},
}};

void check_level(double level) {
  if (level >= 0 && level < 1) return;
  fail_usage("`prune` {:g}: expected a share of the channels from 0 to below 1", level);
}

void check_share(double share) {
  if (share >= 0 && share < 1) return;
  fail_usage("`low_rank` {:g}: expected a share of the weights from 0 to below 1", share);
}

void check_positive_target(std::string_view what, const std::optional<double>& target) {
  if (!target || *target > 0) return;
  fail_usage("{} {:g}: expected a number above 0", what, *target);
}

void check_goal(const OptimizeGoal& goal) {
  check_positive_target("`target_ms`", goal.target_ms);
  check_positive_target("`target_mb`", goal.target_mb);
  if (goal.max_loss && !(*goal.max_loss >= 0)) {
    fail_usage("`max_loss` {:g}: expected percentage points, 0 or more", *goal.max_loss);
  }
}

void check_data(const OptimizeOptions& options, const OptimizeData& data) {
  if (options.precision == VariantPrecision::Int8 && data.calibration.batches == 0) {
    fail_usage("int8 needs data to calibrate with: `calibration` is empty");
  }
  if (options.finetune_epochs > 0 && !data.training) {
    fail_usage("fine-tuning needs samples with labels: `training` is missing");
  }
}

// A recipe without anything to search for.
std::optional<VariantRecipe> fixed_recipe(const OptimizeOptions& options, const OptimizeGoal& goal,
                                          const VariantRecipe& base) {
  const bool has_goal = goal.has_target() || goal.max_loss;
  const bool is_complete = options.prune && options.precision;
  if (has_goal && !is_complete) return {};
  VariantRecipe recipe = base;
  recipe.prune = options.prune.value_or(0);
  recipe.precision = options.precision.value_or(VariantPrecision::AsStored);
  return recipe;
}

}  // namespace

std::string_view name(VariantPrecision precision) {
  return std::ranges::find(kPrecisions, precision, &NamedPrecision::precision)->name;
}

VariantPrecision variant_precision_named(std::string_view name) {
  std::vector<std::string> known;
  for (const NamedPrecision& one : kPrecisions) {
    if (one.name == name) return one.precision;
    known.emplace_back(one.name);
  }
  fail_usage("`precision` {}: expected {}", name, join(known, ", "));
}

std::string describe(const VariantRecipe& recipe) {
  std::vector<std::string> parts;
  if (recipe.precision != VariantPrecision::AsStored) parts.emplace_back(name(recipe.precision));
  if (recipe.low_rank > 0) parts.push_back(fmt::format("low rank {:g}", recipe.low_rank));
  if (recipe.prune > 0) parts.push_back(fmt::format("pruned by {:g}", recipe.prune));
  if (parts.empty()) return recipe.tidy ? "tidied" : "unchanged";
  return join(parts, ", ");
}

struct ModelOptimizer::State {
  State(Graph model, OptimizeData data, OptimizeOptions options)
      : trials(std::move(model), std::move(data), std::move(options)) {}

  Trials trials;

  std::optional<VariantRecipe> found(const OptimizeGoal& goal, Progress* progress) {
    const OptimizeOptions& options = trials.options();
    const VariantRecipe base = trials.base_recipe();
    const auto fixed = fixed_recipe(options, goal, base);
    const SearchSpace space = fixed ? SearchSpace{} : trials.space();
    trials.aim_at(goal, fixed ? 1 : most_tries(space), progress);
    if (goal.has_target() && trials.original(progress).meets_target && !fixed) {
      return VariantRecipe{};
    }
    if (fixed) {
      trials.judged(*fixed);
      return fixed;
    }
    return goal.has_target() ? smallest_change(space, trials) : fastest_version(space, trials);
  }

  void add_energy(OptimizeResult& result) {
    if (!result.chosen || !result.trail[*result.chosen].cost) return;
    const OptimizeOptions& options = trials.options();
    const ModelInputs inputs =
        seeded_inputs(trials.model(), options.bindings, 1, options.seed).front();
    const auto joules = [&](const Graph& graph) {
      return metrics::metered_energy(graph, inputs, options.program).gross_j_per_run;
    };
    result.original.cost->energy_measured_j = joules(trials.model());
    result.trail[*result.chosen].cost->energy_measured_j = joules(result.model);
  }

  OptimizeResult result_for(std::optional<std::size_t> chosen, Progress* progress) {
    OptimizeResult result;
    result.original = trials.original(progress);
    result.trail = trials.trail();
    result.chosen = chosen;
    Variant version = chosen ? trials.version(*chosen, progress) : Variant{.graph = trials.model()};
    result.model = std::move(version.graph);
    result.groups = std::move(version.groups);
    result.low_rank = std::move(version.low_rank);
    add_energy(result);
    if (result.original.quality && !result.original.quality->is_meaningful) {
      result.warnings.emplace_back(
          "the original gives numbers that are not finite on the data it is judged on: agreement "
          "and SNR say nothing; check the data's scaling, or judge on real data");
    }
    const OptimizeTrial& best = result.best();
    result.met = best.cost && best.meets_target && best.is_within_loss;
    return result;
  }
};

ModelOptimizer::ModelOptimizer(Graph model, OptimizeData data, OptimizeOptions options) {
  if (options.prune) check_level(*options.prune);
  if (options.low_rank) check_share(*options.low_rank);
  check_data(options, data);
  state_ = std::make_unique<State>(std::move(model), std::move(data), std::move(options));
}
ModelOptimizer::ModelOptimizer(ModelOptimizer&&) noexcept = default;
ModelOptimizer::~ModelOptimizer() = default;

const OptimizeTrial& ModelOptimizer::original(Progress* progress) {
  return state_->trials.original(progress);
}

OptimizeResult ModelOptimizer::search(const OptimizeGoal& goal, Progress* progress) {
  check_goal(goal);
  try {
    const auto recipe = state_->found(goal, progress);
    Trials& trials = state_->trials;
    const auto position = recipe ? trials.position_of(*recipe) : trials.nearest_of_all();
    return state_->result_for(position, progress);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Cancelled || !state_->trials.has_original()) throw;
    OptimizeResult result = state_->result_for(state_->trials.nearest(), nullptr);
    result.interrupted = true;
    return result;
  }
}

}  // namespace assay
