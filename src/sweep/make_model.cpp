#include <fmt/core.h>

#include <algorithm>

#include "assay/infer.h"
#include "assay/onnx.h"
#include "assay/optimize.h"
#include "assay/prune_measured.h"
#include "assay/quantize.h"
#include "assay/train.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "optimize/training_batches.h"
#include "report/json_parts.h"
#include "sweep/tasks.h"
#include "train/training_fraction.h"

namespace assay::sweep {

namespace {

using report::Json;

struct MadeModel {
  Graph graph = {};
  Json about = Json::object();
};

class ModelMaker {
 public:
  ModelMaker(const SweepTask& task, const std::filesystem::path& folder, Materials& materials,
             Progress& progress)
      : task_(task),
        folder_(folder),
        config_(materials.config()),
        materials_(materials),
        data_(materials.data(task.seed)),
        progress_(progress) {}

  MadeModel make() {
    switch (task_.kind) {
      case SweepTaskKind::Prune:
        return pruned();
      case SweepTaskKind::Quantize:
        return quantized();
      default:
        return trained(materials_.model(task_.seed), config_.epochs);
    }
  }

 private:
  Graph input() const { return read_onnx(model_path(folder_, task_.input)); }

  MadeModel trained(const Graph& model, std::int64_t epochs) {
    if (epochs == 0) return {model, {{"epochs", Json::array()}}};
    train::TrainingFraction fraction(&progress_, "training");
    TrainOptions options{.epochs = epochs,
                         .batch_size = std::min(config_.batch_size, data_.training.size()),
                         .learning_rate = config_.learning_rate,
                         .seed = materials_.loader_seed(task_.seed)};
    const bool is_long = epochs > 2;
    if (is_long) {
      options.checkpoint = folder_ / "models" / (task_.id + ".checkpoint");
      options.resume = true;
    }
    TrainResult result = train_model(model, data_.training, nullptr, options, &fraction);
    if (is_long) std::filesystem::remove(options.checkpoint);
    Json losses = Json::array();
    for (const EpochResult& epoch : result.epochs) losses.push_back(epoch.loss);
    return {std::move(result.model), {{"losses", losses}, {"warnings", result.warnings}}};
  }

  MadeModel pruned() {
    const Graph original = input();
    PruneResult result = prune_model(original, {.level = task_.pruning_level});
    const auto batches = optimize::training_batches(original, data_.training, config_.batch_size,
                                                    materials_.loader_seed(task_.seed));
    Graph graph = recalibrate_batch_norms(result.graph, batches, {}, &progress_).graph;
    Json groups = Json::array();
    for (const PrunedGroup& group : result.groups) {
      groups.push_back({{"name", group.name},
                        {"channels", group.channels},
                        {"kept", group.kept},
                        {"frozen", group.frozen}});
    }
    MadeModel made = trained(graph, config_.fine_tune_epochs);
    made.about["groups"] = groups;
    made.about["warnings"] = result.warnings;
    return made;
  }

  MadeModel quantized() {
    const Graph original = input();
    const std::int64_t size = std::min(config_.batch_size, data_.training.size());
    const Loader loader(data_.training,
                        {.batch_size = size, .seed = materials_.loader_seed(task_.seed)});
    const auto batches = std::min(config_.calibration_batches, loader.batches());
    // Choosing algorithms by timing would take longer than the few batches do.
    QuantizeOptions options;
    options.program.optimize_for = OptimizeFor::Memory;
    const auto data = calibration_data(loader, original, static_cast<std::size_t>(batches));
    QuantizeResult result = quantize_model(original, data, options, &progress_);
    if (!is_quantized(result.graph)) fail_bad_input("the model has no layer that can be int8");
    return {std::move(result.graph),
            {{"method", name(CalibrationMethod::MinMax)},
             {"calibration_batches", batches},
             {"calibration_samples", result.samples},
             {"layers", layers_json(result)},
             {"warnings", result.warnings}}};
  }

  static Json layers_json(const QuantizeResult& result) {
    Json layers = Json::array();
    for (const QuantizedLayer& layer : result.layers) {
      layers.push_back({{"layer", layer.name},
                        {"type", layer.type},
                        {"scale", layer.weight_scales},
                        {"zero_point", Json::array({0})}});
    }
    for (const QuantizedActivation& activation : result.activations) {
      layers.push_back({{"layer", activation.value},
                        {"type", "uint8"},
                        {"scale", Json::array({activation.scale})},
                        {"zero_point", Json::array({activation.zero_point})}});
    }
    return layers;
  }

  const SweepTask& task_;
  const std::filesystem::path& folder_;
  const SweepConfig& config_;
  Materials& materials_;
  const TrainingData& data_;
  Progress& progress_;
};

}  // namespace

std::filesystem::path model_path(const std::filesystem::path& folder, const std::string& task) {
  return folder / "models" / (task + ".onnx");
}

std::string make_model(const SweepTask& task, const std::filesystem::path& folder,
                       Materials& materials, Progress& progress) {
  MadeModel made = ModelMaker(task, folder, materials, progress).make();
  const std::filesystem::path path = model_path(folder, task.id);
  write_onnx(infer_shapes(made.graph).graph, path);
  made.about["bytes"] = std::filesystem::file_size(path);
  made.about["sha256"] = sha256_of_file(path);
  return report::text_of(made.about);
}

}  // namespace assay::sweep
