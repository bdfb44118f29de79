#include "optimize/search_space.h"

#include <algorithm>

#include "base/fail.h"
#include "transform/prune/plan.h"

namespace assay::optimize {

namespace {

bool is_matrix_product(const Graph& model, const Node& node) {
  return (node.is("MatMul") || node.is("Gemm")) && node.has_input(1) &&
         model.initializer(node.inputs[1]) != nullptr;
}

bool has_matrices(const Graph& model) {
  return std::ranges::any_of(model.nodes(),
                             [&](const Node& node) { return is_matrix_product(model, node); });
}

bool has_convolutions(const Graph& model) {
  return std::ranges::any_of(model.nodes(), [](const Node& node) { return node.is("Conv"); });
}

std::vector<std::int64_t> widths_at(const transform::FollowedModel& followed, PruneOptions options,
                                    double level) {
  options.level = level;
  std::vector<std::int64_t> widths;
  for (const PrunedGroup& group : transform::plan_pruning(followed, options).groups) {
    widths.push_back(group.kept);
  }
  return widths;
}

// Widths that are measured, or that depend on activations, are only known when a version is made.
bool are_widths_known(const OptimizeOptions& options) {
  const bool depend_on_data = options.pruning.criterion == PruneCriterion::Activation;
  return !options.measures_widths && !depend_on_data;
}

}  // namespace

std::vector<VariantPrecision> precision_ladder(const Graph& model, const LadderOptions& options) {
  std::vector<VariantPrecision> ladder = {VariantPrecision::AsStored};
  if (is_quantized(model)) return ladder;
  ladder.push_back(VariantPrecision::Float16);
  if (options.has_bfloat16) ladder.push_back(VariantPrecision::BFloat16);
  const bool is_all_matrices = has_matrices(model) && !has_convolutions(model);
  if (is_all_matrices) ladder.push_back(VariantPrecision::WeightsInt8);
  if (options.has_calibration) ladder.push_back(VariantPrecision::Int8);
  if (is_all_matrices) {
    ladder.insert(ladder.end(), {VariantPrecision::Dynamic, VariantPrecision::WeightsInt4});
  }
  return ladder;
}

std::vector<double> distinct_levels(const Graph& model, const OptimizeOptions& options) {
  const std::vector<double> all = levels_up_to(options.largest_prune, options.prune_step);
  if (!are_widths_known(options) || is_quantized(model)) return all;
  std::vector<double> levels;
  try {
    const transform::FollowedModel followed(model, options.bindings);
    auto before = widths_at(followed, options.pruning, 0);
    for (const double level : all) {
      auto widths = widths_at(followed, options.pruning, level);
      if (widths != before) levels.push_back(level);
      before = std::move(widths);
    }
  } catch (const Error&) {
    return all;  // trying a version then says why it cannot be pruned
  }
  return levels;
}

bool is_mostly_large_matrices(const Graph& model) {
  const std::int64_t smallest = LowRankOptions{}.smallest;
  std::int64_t all = 0;
  std::int64_t large = 0;
  for (const Initializer& stored : model.initializers()) all += stored.tensor.elements();
  for (const Node& node : model.nodes()) {
    if (!is_matrix_product(model, node)) continue;
    const Tensor& matrix = *model.initializer(node.inputs[1]);
    const bool is_large = matrix.dims().size() == 2 && std::ranges::min(matrix.dims()) >= smallest;
    if (is_large && matrix.type() == DataType::Float32) large += matrix.elements();
  }
  return 2 * large > all;
}

SearchSpace search_space(const Graph& model, const OptimizeOptions& options,
                         const VariantRecipe& base, bool has_calibration) {
  SearchSpace space{.base = base, .level = options.prune};
  space.precisions = precision_ladder(
      model, {.has_calibration = has_calibration, .has_bfloat16 = options.searches_bfloat16});
  if (options.precision) space.precisions = {*options.precision};
  const bool searches_rank = !options.low_rank && is_mostly_large_matrices(model);
  if (searches_rank) space.shares = {0.75, 0.5, 0.25};
  if (!space.level) space.levels = distinct_levels(model, options);
  return space;
}

}  // namespace assay::optimize
