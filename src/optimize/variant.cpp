#include "optimize/variant.h"

#include <algorithm>

#include "assay/low_rank_measured.h"
#include "assay/memory_budget.h"
#include "assay/precision.h"
#include "assay/quantize_weights.h"
#include "base/as_size.h"
#include "base/fail.h"
#include "optimize/finetune.h"
#include "optimize/tidying.h"
#include "optimize/training_batches.h"

namespace assay::optimize {

namespace {

std::vector<InputBatch> batches_of(const CalibrationData& data) {
  if (data.batches == 0) fail_usage("the activity of channels needs data: `calibration` is empty");
  std::vector<InputBatch> batches;
  for (std::size_t i = 0; i < data.batches; ++i) batches.push_back(data.batch(i));
  return batches;
}

constexpr std::int64_t kSamplesToRecalibrate = 64;  // in a batch

void cast_to(Variant& variant, DataType type) {
  CastModel cast = cast_precision(variant.graph, type);
  variant.graph = std::move(cast.graph);
  variant.notes.insert(variant.notes.end(), cast.warnings.begin(), cast.warnings.end());
}

void quantize_matrices(Variant& variant, int bits) {
  QuantizedWeights quantized = quantize_weights(variant.graph, {.bits = bits});
  if (quantized.layers.empty()) {
    fail_bad_input(
        "the model has no product with a constant float matrix, so there are no weights "
        "to store as codes");
  }
  variant.graph = std::move(quantized.graph);
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

std::string reason_for_float(const MixedResult& mixed, const QuantizedLayer& layer) {
  if (is_among(mixed.faster_float, layer.name)) return "that is faster";
  return is_among(mixed.kept_float, layer.name) ? "8 bits lose too much there" : layer.why_float;
}

void note_layers(const MixedResult& mixed, Variant& variant) {
  const QuantizeResult& quantized = mixed.quantized;
  variant.notes.insert(variant.notes.end(), quantized.warnings.begin(), quantized.warnings.end());
  for (const QuantizedLayer& layer : quantized.layers) {
    const std::string why = reason_for_float(mixed, layer);
    if (!why.empty()) variant.notes.push_back(layer.name + " stays in float: " + why);
  }
}

std::size_t factorised_count(const std::vector<LowRankLayer>& layers) {
  return as_size(std::ranges::count(layers, true, &LowRankLayer::factorised));
}

std::string note_on_low_rank(const std::vector<LowRankLayer>& layers) {
  double most = 0;
  for (const LowRankLayer& layer : layers) {
    if (layer.factorised) most = std::max(most, layer.loss);
  }
  return fmt::format("large matrices in low rank: {} of {}; |W - AB| / |W| is at most {:.2g}",
                     factorised_count(layers), layers.size(), most);
}

}  // namespace

Variant VariantMaker::make(const VariantRecipe& recipe, bool is_finetuned,
                           Progress* progress) const {
  Variant variant = before_precision(recipe, is_finetuned, progress);
  Tidying tidying(recipe.tidy);
  variant.graph = tidying.before_precision(std::move(variant.graph));
  change_precision(variant, recipe.precision, progress);
  variant.graph = tidying.after_precision(std::move(variant.graph));
  if (tidying.saved_anything()) variant.notes.push_back(tidying.note());
  return variant;
}

Variant VariantMaker::before_precision(const VariantRecipe& recipe, bool is_finetuned,
                                       Progress* progress) const {
  for (const MadeBefore& made : made_) {
    const bool is_it = made.recipe.prune == recipe.prune &&
                       made.recipe.low_rank == recipe.low_rank && made.is_finetuned == is_finetuned;
    if (is_it) return made.variant;
  }
  Variant variant = pruned(recipe.prune, progress);
  if (recipe.low_rank > 0) factorize(variant, recipe.low_rank);
  if (is_finetuned) {
    if (!data_.training) fail_usage("fine-tuning needs samples with labels");
    variant.graph = finetuned(variant.graph, *data_.training, options_, progress);
  }
  remember(recipe, is_finetuned, variant);
  return variant;
}

void VariantMaker::remember(const VariantRecipe& recipe, bool is_finetuned,
                            const Variant& variant) const {
  constexpr double kMostMb = 512;
  double all_mb = model_memory_mb(variant.graph);
  for (const MadeBefore& made : made_) all_mb += model_memory_mb(made.variant.graph);
  if (all_mb <= kMostMb) made_.push_back({recipe, is_finetuned, variant});
}

// Where it is faster; or everywhere, if the size or another device counts.
void VariantMaker::factorize(Variant& variant, double share) const {
  const LowRankOptions options{.share = share};
  const bool is_timed = !goal_.target_mb && !options_.device;
  if (is_timed) {
    MeasuredLowRank measured = factorize_where_faster(
        variant.graph, options, {.bindings = options_.bindings, .program = options_.program});
    variant.graph = std::move(measured.graph);
    for (const TimedLowRankLayer& timed : measured.layers) variant.low_rank.push_back(timed.layer);
  } else {
    LowRankResult all = factorize_linear_layers(variant.graph, options);
    variant.graph = std::move(all.graph);
    variant.low_rank = std::move(all.layers);
  }
  if (variant.low_rank.empty()) {
    fail_bad_input(
        "no linear layer has a float32 matrix of at least {} rows and columns, so there is nothing "
        "to write in low rank",
        options.smallest);
  }
  if (factorised_count(variant.low_rank) == 0) {
    fail_bad_input("none of {} large matrices is faster as two with {:g} of the weights",
                   variant.low_rank.size(), share);
  }
  variant.notes.push_back(note_on_low_rank(variant.low_rank));
}

PruneOptions VariantMaker::pruning_at(double level, Progress* progress) const {
  PruneOptions options = options_.pruning;
  options.level = level;
  options.bindings = options_.bindings;
  if (options.criterion == PruneCriterion::Activation) {
    if (!activity_) {
      activity_ =
          measure_activity(original_, batches_of(data_.calibration), options_.program, progress);
    }
    options.activity = *activity_;
  }
  if (options_.measures_widths) {
    options.keep = measure_widths(original_, options, {.program = options_.program}, progress).keep;
  }
  return options;
}

Variant VariantMaker::pruned(double level, Progress* progress) const {
  if (level == 0) return {.graph = original_};
  PruneResult pruned = prune_model(original_, pruning_at(level, progress));
  Variant variant{.graph = recalibrated(std::move(pruned.graph), progress),
                  .groups = std::move(pruned.groups),
                  .notes = std::move(pruned.warnings)};
  for (const PrunedGroup& group : variant.groups) {
    if (group.frozen.empty()) continue;
    variant.notes.push_back(fmt::format("{} is not pruned: {}", group.name, group.frozen));
  }
  return variant;
}

// With samples of the training data, if there are any: batch norms then fit the pruned model.
Graph VariantMaker::recalibrated(Graph graph, Progress* progress) const {
  if (!data_.training) return graph;
  const auto batches =
      training_batches(original_, *data_.training, kSamplesToRecalibrate, options_.seed);
  return recalibrate_batch_norms(graph, batches, options_.program, progress).graph;
}

void VariantMaker::change_precision(Variant& variant, VariantPrecision precision,
                                    Progress* progress) const {
  if (precision == VariantPrecision::AsStored) return;
  variant.before_precision = variant.graph;
  switch (precision) {
    case VariantPrecision::AsStored:
      return;
    case VariantPrecision::Float16:
      return cast_to(variant, DataType::Float16);
    case VariantPrecision::BFloat16:
      return cast_to(variant, DataType::BFloat16);
    case VariantPrecision::WeightsInt8:
      return quantize_matrices(variant, 8);
    case VariantPrecision::WeightsInt4:
      return quantize_matrices(variant, 4);
    case VariantPrecision::Dynamic:
      variant.graph = quantize_dynamic(variant.graph, options_.quantization).graph;
      return;
    case VariantPrecision::Int8:
      return quantize(variant, progress);
  }
}

// Pruning may have lost a part of what may be lost.
double VariantMaker::points_left(const Graph& pruned) const {
  constexpr double kAll = 100;
  if (!goal_.max_loss) return kAll;
  return std::max(0.0, *goal_.max_loss - (score_(original_) - score_(pruned)));
}

void VariantMaker::quantize(Variant& variant, Progress* progress) const {
  MixedOptions options{.quantize = options_.quantization};
  options.quantize.program = options_.program;
  options.max_loss = points_left(variant.graph);
  MixedResult mixed = quantize_mixed(variant.graph, data_.calibration, score_, options, progress);
  note_layers(mixed, variant);
  variant.graph = std::move(mixed.quantized.graph);
}

}  // namespace assay::optimize
