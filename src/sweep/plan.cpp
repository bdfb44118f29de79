#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "assay/sweep.h"
#include "base/sha256.h"
#include "report/json_parts.h"
#include "sweep/materials.h"

namespace assay {

namespace {

using report::Json;

// The same for the same parts, in this order.
std::string identifier(const Json& parts) {
  constexpr std::size_t kDigits = 16;
  const std::string text = parts.dump();
  return sha256_of({std::as_bytes(std::span(text))}).substr(0, kDigits);
}

// Lists the tasks of one seed. Models that several versions need are made once.
class SeedPlanner {
 public:
  SeedPlanner(sweep::Materials& materials, std::uint64_t seed, std::vector<SweepTask>& tasks)
      : materials_(materials), config_(materials.config()), seed_(seed), tasks_(tasks) {}

  void plan() {
    trained_ = train();
    for (const double level : config_.pruning_levels) {
      const std::string model = level > 0 ? prune(level) : trained_;
      for (const std::string& precision : config_.precisions) {
        const std::string version = precision == "int8" ? quantize(model, level) : model;
        measure_all(version, level, precision);
      }
    }
    measure(trained_, 0, "fp32", config_.measured_batches().front(), threads().front());
    deploy();
  }

 private:
  std::vector<std::int64_t> threads() const {
    return config_.threads.empty() ? std::vector<std::int64_t>{0} : config_.threads;
  }

  std::string add(SweepTask task, const Json& parts) {
    task.id = identifier(parts);
    task.seed = seed_;
    if (known_.insert(task.id).second) tasks_.push_back(task);
    return task.id;
  }

  std::string train() {
    return add({.kind = SweepTaskKind::Train}, {{"task", "train"},
                                                {"model", materials_.model_identity()},
                                                {"seed", seed_},
                                                {"loader_seed", materials_.loader_seed(seed_)},
                                                {"data", materials_.data_sha256(seed_)},
                                                {"batch_size", config_.batch_size},
                                                {"epochs", config_.epochs},
                                                {"learning_rate", config_.learning_rate}});
  }

  std::string prune(double level) {
    return add({.kind = SweepTaskKind::Prune, .input = trained_, .pruning_level = level},
               {{"task", "prune"},
                {"input", trained_},
                {"level", level},
                {"epochs", config_.fine_tune_epochs},
                {"batch_size", config_.batch_size},
                {"learning_rate", config_.learning_rate}});
  }

  std::string quantize(const std::string& model, double level) {
    return add({.kind = SweepTaskKind::Quantize,
                .input = model,
                .pruning_level = level,
                .precision = "int8"},
               {{"task", "quantize"},
                {"input", model},
                {"batches", config_.calibration_batches},
                {"batch_size", config_.batch_size}});
  }

  void measure_all(const std::string& version, double level, const std::string& precision) {
    for (const std::int64_t batch : config_.measured_batches()) {
      for (const std::int64_t count : threads()) measure(version, level, precision, batch, count);
    }
  }

  Json measuring(const char* kind, const std::string& version, std::int64_t batch,
                 std::int64_t count) const {
    return {{"task", kind},
            {"input", version},
            {"baseline", trained_},
            {"batch", batch},
            {"threads", count},
            {"device", config_.device},
            {"power_watts", config_.power_watts},
            {"frequency_scale", config_.cpu_frequency_scale}};
  }

  void measure(const std::string& version, double level, const std::string& precision,
               std::int64_t batch, std::int64_t count) {
    Json parts = measuring("measure", version, batch, count);
    parts["level"] = level;
    parts["precision"] = precision;
    parts["repeats"] = config_.benchmark_repeats;
    parts["trials"] = config_.benchmark_trials;
    parts["warmup"] = config_.benchmark_warmup;
    add({.kind = SweepTaskKind::Measure,
         .input = version,
         .baseline = trained_,
         .pruning_level = level,
         .precision = precision,
         .batch_size = batch,
         .threads = static_cast<int>(count)},
        parts);
  }

  void deploy() {
    const std::int64_t batch = config_.measured_batches().front();
    const std::int64_t count = threads().front();
    add({.kind = SweepTaskKind::Deploy,
         .input = trained_,
         .baseline = trained_,
         .batch_size = batch,
         .threads = static_cast<int>(count)},
        measuring("deploy", trained_, batch, count));
  }

  sweep::Materials& materials_;
  const SweepConfig& config_;
  std::uint64_t seed_ = 0;
  std::vector<SweepTask>& tasks_;
  std::set<std::string> known_;
  std::string trained_;
};

}  // namespace

std::string_view name(SweepTaskKind kind) {
  switch (kind) {
    case SweepTaskKind::Train:
      return "train";
    case SweepTaskKind::Prune:
      return "prune";
    case SweepTaskKind::Quantize:
      return "quantize";
    case SweepTaskKind::Measure:
      return "measure";
    case SweepTaskKind::Deploy:
      return "deploy";
  }
  return "";
}

std::string describe(const SweepTask& task) {
  std::string text(name(task.kind));
  if (task.kind == SweepTaskKind::Measure) text += " " + task.precision;
  if (task.pruning_level > 0) {
    text += fmt::format("{} pruned by {:g}", task.kind == SweepTaskKind::Measure ? "," : "",
                        task.pruning_level);
  }
  return text;
}

SweepPlan plan_sweep(const SweepConfig& config) {
  sweep::Materials materials(config);
  return sweep::plan_with(materials);
}

SweepPlan sweep::plan_with(Materials& materials) {
  SweepPlan plan{.config = materials.config(), .model_sha256 = materials.model_identity()};
  for (const std::uint64_t seed : plan.config.all_seeds()) {
    plan.data_sha256.emplace_back(seed, materials.data_sha256(seed));
    SeedPlanner(materials, seed, plan.tasks).plan();
  }
  return plan;
}

}  // namespace assay
