#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "assay/memory_budget.h"
#include "assay/onnx.h"
#include "assay/sweep.h"
#include "assay/training_data.h"
#include "base/fail.h"
#include "base/text.h"
#include "sweep/model_store.h"
#include "sweep/records.h"
#include "sweep/reproducibility.h"
#include "sweep/row_json.h"
#include "sweep/tasks.h"

namespace assay {

namespace sweep {

namespace {

struct Result {
  const SweepTask* task = nullptr;
  const report::Json* record = nullptr;
};

SweepRow row_of(const Result& result, const SweepConfig& config) {
  const SweepTask& task = *result.task;
  const report::Json& record = *result.record;
  SweepRow row{.task = task.id,
               .seed = task.seed,
               .pruning_level = task.pruning_level,
               .precision = task.precision,
               .batch_size = task.batch_size,
               .threads = task.threads,
               .error = record.at("error").get<std::string>(),
               .active_budget_mb = config.active_memory_budget_mb,
               .model_file = "models/" + task.input + ".onnx",
               .machine = host_of(record.at("host")),
               .measured_at = record.at("measured_at").get<std::string>(),
               .seconds = record.at("seconds").get<double>()};
  if (row.threads == 0) row.threads = row.machine.processors;
  if (!row.error.empty()) return row;
  const report::Json& measured = record.at("result");
  row.metrics = metrics_of(measured.at("metrics"));
  row.threads = measured.at("threads").get<int>();
  row.latency_vs_baseline = LatencyRatio{.ratio = measured.at("ratio").get<double>(),
                                         .ci95_low = measured.at("ratio_ci95_low").get<double>(),
                                         .ci95_high = measured.at("ratio_ci95_high").get<double>()};
  row.accepted = row.metrics->memory_mb <= config.active_memory_budget_mb;
  row.violations = memory_violations(row.metrics->memory_mb, config.memory_budgets_mb);
  return row;
}

bool is_studied(const SweepTask& task, const SweepConfig& config) {
  return std::ranges::count(config.pruning_levels, task.pruning_level) > 0 &&
         std::ranges::count(config.precisions, task.precision) > 0;
}

bool is_baseline(const SweepTask& task, const SweepConfig& config) {
  const std::int64_t threads = config.threads.empty() ? 0 : config.threads.front();
  return task.pruning_level == 0 && task.precision == "fp32" &&
         task.batch_size == config.measured_batches().front() && task.threads == threads;
}

QuantizationMetadata quantization_of(const SweepTask& task, const report::Json& about) {
  QuantizationMetadata metadata{
      .pruning_level = task.pruning_level,
      .method = about.at("method").get<std::string>(),
      .calibration_batches = about.at("calibration_batches").get<std::int64_t>(),
      .calibration_samples = about.at("calibration_samples").get<std::int64_t>(),
      .warnings = about.at("warnings").get<std::vector<std::string>>()};
  for (const report::Json& layer : about.at("layers")) {
    metadata.layers.push_back({layer.at("layer").get<std::string>(),
                               layer.at("type").get<std::string>(),
                               layer.at("scale").get<std::vector<double>>(),
                               layer.at("zero_point").get<std::vector<std::int64_t>>()});
  }
  return metadata;
}

// Gathers what is known of one seed on one machine.
class RunAssembler {
 public:
  RunAssembler(const std::filesystem::path& folder, const SweepPlan& plan, std::uint64_t seed)
      : folder_(folder), plan_(plan) {
    run_.config = plan.config;
    run_.seed = seed;
  }

  void add(const Result& result) {
    const std::string kind(name(result.task->kind));
    seconds_[kind] += result.record->at("seconds").get<double>();
    if (result.task->kind == SweepTaskKind::Deploy) {
      if (!is_error(*result.record)) {
        run_.deployment = deployment_of(result.record->at("result"));
      }
      return;
    }
    SweepRow row = row_of(result, plan_.config);
    if (row.metrics) devices_.insert(result.record->at("result").value("device", "cpu"));
    if (is_baseline(*result.task, plan_.config)) run_.baseline = row;
    if (is_studied(*result.task, plan_.config)) run_.rows.push_back(std::move(row));
  }

  SweepRun finish(const std::string& command) && {
    add_models();
    const bool use_ci = plan_.config.pareto_use_ci;
    run_.latency_frontier = pareto_frontier(run_.rows, ParetoCost::Latency, use_ci);
    run_.energy_frontier = pareto_frontier(run_.rows, ParetoCost::Energy, use_ci);
    run_.memory_frontier = pareto_frontier(run_.rows, ParetoCost::Memory, use_ci);
    run_.decision = decide(run_.rows, plan_.config);
    name_recommended();
    run_.reproducibility =
        reproducibility_of(plan_, {run_.seed, host(), baseline_sha256_, command, devices_used()});
    if (plan_.config.device == "cuda" && devices_.contains("cpu")) warn_of_fallback();
    for (const auto& phase : seconds_) run_.phases.emplace_back(phase);
    return std::move(run_);
  }

 private:
  std::string devices_used() const {
    return join(std::vector<std::string>(devices_.begin(), devices_.end()), ", ");
  }

  void warn_of_fallback() {
    const bool is_all = devices_.size() == 1;
    run_.warnings.push_back(fmt::format("device cuda is not available {}: {} ran on the CPU",
                                        is_all ? "here" : "everywhere",
                                        is_all ? "everything" : "some versions"));
  }

  // Journals may be merged where the models are not.
  void name_recommended() {
    if (!run_.decision.recommended) return;
    const std::string& file = run_.rows[*run_.decision.recommended].model_file;
    if (std::filesystem::exists(folder_ / file)) {
      run_.recommended_file = "recommended.onnx";
    } else {
      run_.warnings.push_back(file + " is not here, so recommended.onnx is not written");
    }
  }

  SweepHost host() const {
    if (run_.baseline) return run_.baseline->machine;
    return run_.rows.empty() ? SweepHost() : run_.rows.front().machine;
  }

  void add_models() {
    for (const SweepTask& task : plan_.tasks) {
      if (!task.makes_model() || task.seed != run_.seed) continue;
      const auto record = find_model(folder_, task.id);
      if (!record) continue;
      seconds_[std::string(name(task.kind))] += record->seconds;
      if (!record->error.empty()) continue;
      if (task.kind == SweepTaskKind::Train) {
        baseline_sha256_ = record->about.value("sha256", "");
        analyse_baseline(task);
      }
      if (task.kind == SweepTaskKind::Quantize) {
        run_.quantization.push_back(quantization_of(task, record->about));
      }
    }
  }

  // The baseline's latency tells what its bytes and MACs mean.
  void analyse_baseline(const SweepTask& trained) {
    const Graph model = read_onnx(model_path(folder_, trained.id));
    run_.layers = estimate_layerwise_stats(model, plan_.config.measured_batches().front(),
                                           sample_dims_of(model, {1, 28, 28}));
    if (!run_.baseline || !run_.baseline->metrics) return;
    const SweepHost machine = host();
    const auto bandwidth = plan_.config.memory_bandwidth_gbps ? plan_.config.memory_bandwidth_gbps
                                                              : machine.bandwidth_gbps;
    auto peak = plan_.config.peak_compute_gmacs;
    if (!peak && machine.peak_gflops) peak = *machine.peak_gflops / 2;
    if (!bandwidth) {
      run_.warnings.push_back(
          "no memory bandwidth: it was neither configured nor measured, so there is no hardware "
          "summary; 'assay machine' measures it");
      return;
    }
    run_.hardware =
        summarize_hardware(run_.layers, run_.baseline->metrics->latency_ms, *bandwidth, peak);
  }

  const std::filesystem::path& folder_;
  const SweepPlan& plan_;
  SweepRun run_;
  std::map<std::string, double> seconds_;
  std::set<std::string> devices_;  // that versions were measured on
  std::string baseline_sha256_;
};

using RunKey = std::pair<std::string, std::uint64_t>;  // machine and seed

// Machines in the order of how much they did, seeds in the order of the plan.
std::vector<RunKey> run_order(const std::map<RunKey, std::vector<Result>>& results,
                              const SweepPlan& plan) {
  std::map<std::string, std::size_t> rows;
  for (const auto& [key, some] : results) rows[key.first] += some.size();
  std::vector<std::pair<std::string, std::size_t>> machines(rows.begin(), rows.end());
  std::ranges::stable_sort(machines, std::greater<>{},
                           &std::pair<std::string, std::size_t>::second);
  std::vector<RunKey> order;
  for (const auto& [machine, count] : machines) {
    for (const std::uint64_t seed : plan.config.all_seeds()) {
      if (results.contains({machine, seed})) order.emplace_back(machine, seed);
    }
  }
  return order;
}

void warn_of_damage(MergedSweep& merged) {
  if (merged.damaged_lines == 0) return;
  merged.warnings.push_back(fmt::format(
      "{} {} of the journals could not be read and {} left out, probably because a worker was "
      "stopped while writing",
      merged.damaged_lines, merged.damaged_lines == 1 ? "line" : "lines",
      merged.damaged_lines == 1 ? "is" : "are"));
}

MergedSweep merged_records(const std::filesystem::path& folder, const SweepPlan& plan,
                           const Records& records, const std::string& command) {
  MergedSweep merged{.records = records.read,
                     .duplicates = records.duplicates,
                     .damaged_lines = records.damaged_lines,
                     .foreign = records.foreign};
  std::map<RunKey, std::vector<Result>> results;
  std::map<std::uint64_t, std::size_t> missing;
  for (const SweepTask& task : plan.tasks) {
    if (task.makes_model()) continue;
    const auto record = records.by_task.find(task.id);
    if (record == records.by_task.end()) {
      merged.missing.push_back(task);
      if (task.kind == SweepTaskKind::Measure) ++missing[task.seed];
      continue;
    }
    const SweepHost host = host_of(record->second.at("host"));
    results[{host.fingerprint, task.seed}].push_back({&task, &record->second});
  }
  for (const RunKey& key : run_order(results, plan)) {
    RunAssembler assembler(folder, plan, key.second);
    for (const Result& result : results[key]) assembler.add(result);
    merged.runs.push_back(std::move(assembler).finish(command));
    merged.runs.back().missing = missing[key.second];
  }
  warn_of_damage(merged);
  return merged;
}

}  // namespace

}  // namespace sweep

MergedSweep merge_sweep(const std::filesystem::path& folder, const std::string& command) {
  const SweepPlan plan = read_plan(folder);
  const sweep::Records records = sweep::read_records(folder, plan);
  try {
    return sweep::merged_records(folder, plan, records, command);
  } catch (const nlohmann::json::exception& error) {
    fail_bad_input("{}: a result is damaged: {}", folder.string(), error.what());
  }
}

}  // namespace assay
