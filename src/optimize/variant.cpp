#include "optimize/variant.h"

#include <algorithm>

#include "assay/precision.h"
#include "assay/quantize_weights.h"
#include "assay/train.h"
#include "base/fail.h"
#include "base/text.h"
#include "train/bound_model.h"

namespace assay::optimize {

namespace {

// The steps of all epochs, as a part of a longer task.
class FinetuneProgress : public TrainProgress {
 public:
  explicit FinetuneProgress(Progress* whole) : whole_(whole) {}
  bool cancelled() const override { return whole_ != nullptr && whole_->cancelled(); }
  void stepped(const TrainMoment& moment) override {
    const auto steps = static_cast<double>(moment.epochs * moment.steps);
    const auto done = static_cast<double>((moment.epoch - 1) * moment.steps + moment.step);
    if (whole_ != nullptr && steps > 0) whole_->report(done / steps, "fine-tuning");
  }

 private:
  Progress* whole_ = nullptr;
};

std::vector<InputBatch> batches_of(const CalibrationData& data) {
  if (data.batches == 0) fail_usage("the activity of channels needs data: `calibration` is empty");
  std::vector<InputBatch> batches;
  for (std::size_t i = 0; i < data.batches; ++i) batches.push_back(data.batch(i));
  return batches;
}

// A few large ones: statistics of a batch should be near those of all data.
std::vector<InputBatch> training_batches(const Graph& model, const Dataset& data,
                                         std::uint64_t seed) {
  constexpr std::int64_t kSamples = 64;
  constexpr std::int64_t kBatches = 4;
  const std::int64_t size = std::min(kSamples, data.size());
  const Loader loader(data, {.batch_size = size, .seed = seed, .drop_last = true});
  const auto bound = train::bind_to_data(model, data, size);
  std::vector<InputBatch> batches;
  for (std::int64_t i = 0; i < std::min(kBatches, loader.batches()); ++i) {
    batches.push_back({train::fitted_samples(loader.batch(i).samples, bound)});
  }
  return batches;
}

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

// Whether products with constant matrices hold a good part of the weights.
bool has_matrices(const Graph& model) {
  return std::ranges::any_of(model.nodes(), [&](const Node& node) {
    return (node.is("MatMul") || node.is("Gemm")) && node.has_input(1) &&
           model.initializer(node.inputs[1]) != nullptr;
  });
}

bool has_convolutions(const Graph& model) {
  return std::ranges::any_of(model.nodes(), [](const Node& node) { return node.is("Conv"); });
}

}  // namespace

Variant VariantMaker::make(const VariantRecipe& recipe, bool is_finetuned,
                           Progress* progress) const {
  Variant variant = pruned(recipe.prune, progress);
  if (is_finetuned) variant.graph = finetuned(variant.graph, progress);
  change_precision(variant, recipe.precision, progress);
  return variant;
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
  const auto batches = training_batches(original_, *data_.training, options_.seed);
  return recalibrate_batch_norms(graph, batches, options_.program, progress).graph;
}

Graph VariantMaker::finetuned(const Graph& graph, Progress* progress) const {
  if (!data_.training) fail_usage("fine-tuning needs samples with labels");
  FinetuneProgress listener(progress);
  TrainOptions options{.epochs = options_.finetune_epochs,
                       .learning_rate = options_.finetune_rate,
                       .seed = options_.seed};
  options.program.cpu = options_.program.cpu;
  return train_model(graph, *data_.training, nullptr, options, &listener).model;
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
  if (!max_loss_) return kAll;
  return std::max(0.0, *max_loss_ - (score_(original_) - score_(pruned)));
}

void VariantMaker::quantize(Variant& variant, Progress* progress) const {
  MixedOptions options{.quantize = options_.quantization};
  options.quantize.program = options_.program;
  options.max_loss = points_left(variant.graph);
  MixedResult mixed = quantize_mixed(variant.graph, data_.calibration, score_, options, progress);
  note_layers(mixed, variant);
  variant.graph = std::move(mixed.quantized.graph);
}

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

}  // namespace assay::optimize
