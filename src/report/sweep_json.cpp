#include <algorithm>

#include "report/sweep_columns.h"
#include "report/sweep_parts.h"

namespace assay {

using namespace assay::report;

namespace {

// --- the rows in figures

std::size_t accepted_count(const SweepRun& run) {
  return static_cast<std::size_t>(std::ranges::count_if(run.rows, is_accepted));
}

// The largest or smallest figure of the accepted rows; null without any.
template <typename Better>
Json best_accepted(const SweepRun& run, double PerfMetrics::*figure, Better is_better) {
  std::optional<double> best;
  for (const SweepRow& row : run.rows) {
    if (!is_accepted(row)) continue;
    const double value = (*row.metrics).*figure;
    if (!best || is_better(value, *best)) best = value;
  }
  return optional_json(best);
}

Json swept_baseline_json(const SweepRun& run) {
  if (!run.baseline) return nullptr;
  Json json = object_of(measured_figures(*run.baseline, violation_names(run.config)));
  json["accepted_under_active_budget"] =
      run.baseline->metrics ? Json(run.baseline->accepted) : Json(nullptr);
  json["error"] = run.baseline->error;
  return json;
}

void put_counts(const SweepRun& run, Json& json) {
  const std::size_t accepted = accepted_count(run);
  json["study_rows"] = run.rows.size();
  json["accepted_rows"] = accepted;
  json["rejected_rows"] = run.rows.size() - accepted;
  json["failed_rows"] = std::ranges::count_if(run.rows, has_failed);
  json["missing"] = run.missing;
  json["best_accuracy_accepted"] = best_accepted(run, &PerfMetrics::accuracy, std::greater<>{});
  json["lowest_latency_ms_accepted"] = best_accepted(run, &PerfMetrics::latency_ms, std::less<>{});
}

// --- the decision

Json row_reference(const SweepRun& run, std::size_t index) {
  const SweepRow& row = run.rows.at(index);
  Json json = {{"row", index}, {"version", describe(row)}};
  json.update(object_of(version_figures(row)));
  return json;
}

Json latency_ratio_json(const std::optional<LatencyRatio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", ratio->ratio}, {"ci95_low", ratio->ci95_low}, {"ci95_high", ratio->ci95_high}};
}

Json runner_up_json(const SweepRun& run) {
  const SweepDecision& decision = run.decision;
  if (!decision.runner_up) return nullptr;
  Json json = row_reference(run, *decision.runner_up);
  json["latency_of_recommended_over_this"] = latency_ratio_json(decision.versus_runner_up);
  json["is_beyond_noise"] =
      decision.versus_runner_up ? Json(decision.is_beyond_noise) : Json(nullptr);
  json["note"] = decision.runner_up_note;
  return json;
}

Json recommended_json(const SweepRun& run) {
  const SweepDecision& decision = run.decision;
  if (!decision.recommended) return {{"row", nullptr}, {"reason", decision.reason}};
  const SweepRow& row = run.rows.at(*decision.recommended);
  Json json = row_reference(run, *decision.recommended);
  json["reason"] = decision.reason;
  json["model_file"] = run.recommended_file.empty() ? Json(nullptr) : Json(run.recommended_file);
  json["accuracy"] = row.metrics->accuracy;
  json["latency_ms"] = row.metrics->latency_ms;
  json["memory_mb"] = row.metrics->memory_mb;
  json["latency_vs_baseline"] = latency_ratio_json(row.latency_vs_baseline);
  json["runner_up"] = runner_up_json(run);
  return json;
}

// Rows that were not recommended and why: those that were accepted, or those that were not.
Json reasons_json(const SweepRun& run, bool of_accepted) {
  Json list = Json::array();
  for (const RejectedRow& rejected : run.decision.rejected) {
    const SweepRow& row = run.rows.at(rejected.row);
    if (is_accepted(row) != of_accepted) continue;
    list.push_back(
        {{"row", rejected.row}, {"version", describe(row)}, {"reason", rejected.reason}});
  }
  return list;
}

void put_decision(const SweepRun& run, Json& json) {
  json["recommended"] = recommended_json(run);
  json["rejected"] = reasons_json(run, false);
  json["not_recommended"] = reasons_json(run, true);
  json["pareto_frontiers"] = {{"latency", run.latency_frontier},
                              {"energy", run.energy_frontier},
                              {"memory", run.memory_frontier}};
}

// --- what it ran on

Json deployment_json(const SweepRun& run) {
  const auto figure = [&](double Deployment::*member) {
    return run.deployment ? Json((*run.deployment).*member) : Json(nullptr);
  };
  Json json = {{"batch_latency_ms", figure(&Deployment::batch_latency_ms)},
               {"batch_throughput_sps", figure(&Deployment::batch_throughput_sps)},
               {"stream_avg_latency_ms", figure(&Deployment::stream_avg_latency_ms)},
               {"stream_throughput_sps", figure(&Deployment::stream_throughput_sps)}};
  if (run.hardware) json.update(hardware_summary_object(*run.hardware));
  return json;
}

Json sweep_host_json(const SweepRun& run) {
  if (!run.baseline && run.rows.empty()) return nullptr;
  const SweepHost& machine = run.baseline ? run.baseline->machine : run.rows.front().machine;
  return {{"host", machine.host},
          {"processor", machine.processor},
          {"processors", machine.processors},
          {"fingerprint", machine.fingerprint},
          {"peak_gflops", optional_json(machine.peak_gflops)},
          {"bandwidth_gbps", optional_json(machine.bandwidth_gbps)}};
}

void put_budgets(const SweepConfig& config, Json& json) {
  json["memory_budgets_mb"] = config.memory_budgets_mb;
  json["active_memory_budget_mb"] = config.active_memory_budget_mb;
  json["latency_budget_ms"] = optional_json(config.latency_budget_ms);
  json["max_accuracy_loss"] = config.max_accuracy_loss;
  json["cpu_frequency_scale"] = config.cpu_frequency_scale;
  json["latency_multiplier"] = config.latency_multiplier();
}

// The rows of sweep_results.csv, with a name for each.
Json sweep_rows_json(const SweepRun& run) {
  const std::vector<std::string> violations = violation_names(run.config);
  Json rows = Json::array();
  for (const SweepRow& row : run.rows) {
    Json json = {{"version", describe(row)}};
    json.update(object_of(sweep_figures(row, violations)));
    rows.push_back(std::move(json));
  }
  return rows;
}

Json seconds_json(const SweepRun& run) {
  Json json = Json::object();
  for (const auto& [phase, seconds] : run.phases) json[phase] = seconds;
  return json;
}

}  // namespace

Json report::sweep_summary_object(const SweepRun& run) {
  Json json = {{"schema", "assay.sweep/1"},
               {"model", run.config.model},
               {"dataset", run.config.dataset},
               {"seed", run.seed}};
  json["baseline"] = swept_baseline_json(run);
  put_budgets(run.config, json);
  put_counts(run, json);
  json["deployment"] = deployment_json(run);
  put_decision(run, json);
  json["rows"] = sweep_rows_json(run);
  json["phases"] = seconds_json(run);
  json["machine"] = sweep_host_json(run);
  json["warnings"] = run.warnings;
  return json;
}

std::string sweep_summary_json(const SweepRun& run) {
  return indented_text_of(sweep_summary_object(run)) + "\n";
}

}  // namespace assay
