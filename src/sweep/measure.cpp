#include <algorithm>

#include "assay/deployment.h"
#include "assay/engine.h"
#include "assay/error.h"
#include "assay/onnx.h"
#include "base/atomic_file.h"
#include "base/cache_file.h"
#include "metrics/paired_metrics.h"
#include "sweep/row_json.h"
#include "sweep/tasks.h"

namespace assay::sweep {

namespace {

// Kept for the user where possible: the next sweep of such a model chooses no algorithm again.
std::string tuning_file(const std::filesystem::path& folder) {
  const std::string own = (folder / "models" / "tuning").string();
  const auto kept = cache_path("tuning", "sweep");
  try {
    if (kept) make_folder(std::filesystem::path(*kept).parent_path());
  } catch (const Error&) {
    return own;
  }
  return kept.value_or(own);
}

// Called in the process that measures: a GPU that was started does not survive a fork.
std::string engine_for(const std::string& device) {
  for (const EngineInfo& engine : engines())
    if (engine.device == device && engine.available) return engine.name;
  return default_engine();
}

ProgramOptions program_for(const SweepTask& task, const SweepConfig& config,
                           const std::filesystem::path& folder) {
  ProgramOptions options;
  if (config.device != "cpu") options.engine = engine_for(config.device);
  options.cpu.threads = task.threads;
  options.tuning_file = tuning_file(folder);
  return options;
}

Loader validation_loader(const SweepTask& task, Materials& materials) {
  const Dataset& data = materials.data(task.seed).validation;
  return {data, {.batch_size = std::min(task.batch_size, data.size()), .shuffle = false}};
}

}  // namespace

std::string measure_version(const SweepTask& task, const std::filesystem::path& folder,
                            Materials& materials, const std::optional<Accuracy>& known_accuracy,
                            Progress& progress) {
  const SweepConfig& config = materials.config();
  const Graph version = read_onnx(model_path(folder, task.input));
  const Graph baseline = read_onnx(model_path(folder, task.baseline));
  metrics::PairedOptions options{.repeats = static_cast<std::size_t>(config.benchmark_repeats),
                                 .trials = static_cast<std::size_t>(config.benchmark_trials),
                                 .warmup = static_cast<std::size_t>(config.benchmark_warmup),
                                 .power_watts = config.power_watts,
                                 .latency_multiplier = config.latency_multiplier(),
                                 .known_accuracy = known_accuracy,
                                 .program = program_for(task, config, folder)};
  const Loader loader = validation_loader(task, materials);
  const auto paired = metrics::collect_paired_metrics(version, task.precision, baseline, loader,
                                                      options, &progress);
  return report::text_of({{"metrics", metrics_record(paired.metrics)},
                          {"correct", paired.accuracy.correct},
                          {"total", paired.accuracy.total},
                          {"ratio", paired.ratio},
                          {"ratio_ci95_low", paired.ratio_ci95_low},
                          {"ratio_ci95_high", paired.ratio_ci95_high},
                          {"threads", paired.threads},
                          {"device", find_engine(options.program.engine).device}});
}

std::string simulate_deployment_of(const SweepTask& task, const std::filesystem::path& folder,
                                   Materials& materials, Progress& progress) {
  constexpr double kSeconds = 0.1;
  const Graph model = read_onnx(model_path(folder, task.input));
  DeploymentOptions options{.seconds = kSeconds,
                            .latency_multiplier = materials.config().latency_multiplier()};
  options.run.program = program_for(task, materials.config(), folder);
  return report::text_of(
      deployment_record(simulate_deployment(model, task.batch_size, options, &progress)));
}

}  // namespace assay::sweep
