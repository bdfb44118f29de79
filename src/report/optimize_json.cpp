#include <cmath>

#include "report/compare_impact.h"
#include "report/compare_words.h"
#include "report/optimize_rows.h"

namespace assay {

using namespace assay::report;

namespace {

Json unconfirmed_json(const OptimizeReport& report) {
  Json versions = Json::array();
  for (const VariantRecipe& recipe : report.unconfirmed) versions.push_back(describe(recipe));
  return versions;
}

Json goal_json(const OptimizeReport& report) {
  return {{"target_ms", optional_json(report.goal.target_ms)},
          {"target_mb", optional_json(report.goal.target_mb)},
          {"max_loss", optional_json(report.goal.max_loss)},
          {"device", report.device.empty() ? Json(nullptr) : Json(report.device)},
          {"met", report.met},
          {"unconfirmed", unconfirmed_json(report)}};
}

Json accuracy_interval_json(const Accuracy& accuracy) {
  return {{"value", accuracy.value},
          {"ci95_low", accuracy.ci95_low},
          {"ci95_high", accuracy.ci95_high},
          {"samples", accuracy.total}};
}

// Its latency is that of the comparison, where there is one; the comparison has the interval, of
// the ratio.
Json version_json(const OptimizeReport& report, const OptimizeTrial& trial,
                  double Comparison::*median) {
  Json json = object_of(trial_figures(trial));
  double latency_ms = trial.cost ? trial.cost->latency.median_ms : 0;
  if (report.comparison) {
    latency_ms = report.comparison->result.*median;
    json["latency_ci95_low_ms"] = nullptr;
    json["latency_ci95_high_ms"] = nullptr;
  }
  json["latency_ms"] = latency_ms;
  json["energy_proxy_j"] = report.power_watts * latency_ms * 1e-3;
  json["energy_measured_j"] =
      trial.cost ? optional_json(trial.cost->energy_measured_j) : Json(nullptr);
  if (trial.quality && trial.quality->accuracy) {
    json["accuracy_interval"] = accuracy_interval_json(*trial.quality->accuracy);
  }
  json["notes"] = trial.notes;
  return json;
}

Json optimize_comparison_json(const ModelComparison& comparison) {
  const Comparison& result = comparison.result;
  const auto impact = impact_of(comparison);
  return {
      {"verdict", name(result.verdict)}, {"ratio", result.ratio},
      {"ci95_low", result.ci95_low},     {"ci95_high", result.ci95_high},
      {"pairs", result.pairs},           {"before_ms", result.median_a},
      {"after_ms", result.median_b},     {"impact", impact ? impact_json(*impact) : Json(nullptr)}};
}

Json written_json(const WrittenModel& written) {
  if (written.path.empty()) return nullptr;
  return {{"path", written.path},
          {"sha256", written.sha256},
          {"bytes", written.bytes},
          {"record", written.record}};
}

Json trail_json(const OptimizeReport& report) {
  Json rows = Json::array();
  for (const OptimizeTrial& trial : report.result.trail) {
    Json row = object_of(trial_figures(trial));
    row["outcome"] = trial_outcome(report, trial);
    row["seconds"] = trial.seconds;
    row["notes"] = trial.notes;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json scales_json(const std::vector<TensorScale>& scales) {
  Json all = Json::array();
  for (const TensorScale& one : scales) {
    all.push_back({{"tensor", one.tensor},
                   {"type", name(one.type)},
                   {"axis", optional_json(one.axis)},
                   {"scales", one.scales},
                   {"zero_points", one.zero_points}});
  }
  return all;
}

Json sensitivities_json(const std::vector<LayerSensitivity>& layers) {
  Json all = Json::array();
  for (const LayerSensitivity& layer : layers) {
    all.push_back({{"layer", layer.layer},
                   {"op", layer.op},
                   {"snr_db", std::isfinite(layer.snr_db) ? Json(layer.snr_db) : Json(nullptr)},
                   {"agreement", layer.agreement},
                   {"mean_squared_error", layer.mean_squared_error}});
  }
  return all;
}

Json groups_json(const std::vector<PrunedGroup>& groups) {
  Json all = Json::array();
  for (const PrunedGroup& group : groups) {
    all.push_back({{"group", group.name},
                   {"layers", group.layers},
                   {"channels", group.channels},
                   {"kept", group.kept},
                   {"frozen", group.frozen.empty() ? Json(nullptr) : Json(group.frozen)}});
  }
  return all;
}

Json low_rank_json(const std::vector<LowRankLayer>& layers) {
  Json all = Json::array();
  for (const LowRankLayer& layer : layers) {
    all.push_back({{"layer", layer.name},
                   {"rows", layer.rows},
                   {"columns", layer.columns},
                   {"rank", layer.factorised ? Json(layer.rank) : Json(nullptr)},
                   {"loss", layer.loss}});
  }
  return all;
}

Json choices_json(const OptimizeReport& report) {
  Json choices = Json::object();
  for (const auto& [key, value] : report.choices) choices[key] = value;
  return choices;
}

void write_fields(const OptimizeReport& report, JsonWriter& json) {
  json.field("model", model_json(report.model));
  json.field("written", written_json(report.written));
  json.field("goal", goal_json(report));
  json.field("interrupted", report.result.interrupted);
  json.field("batch", report.batch);
  json.field("threads", report.threads);
  json.field("power_watts", report.power_watts);
  json.field("calibrated_on", report.calibrated_on);
  json.field("judged_on", report.judged_on);
  json.field("choices", choices_json(report));
  const OptimizeResult& result = report.result;
  json.field("before", version_json(report, result.original, &Comparison::median_a));
  json.field("after", version_json(report, result.best(), &Comparison::median_b));
  json.field("comparison",
             report.comparison ? optimize_comparison_json(*report.comparison) : Json(nullptr));
  if (!report.sensitivities.empty()) {
    json.field("sensitivity", sensitivities_json(report.sensitivities));
  }
  json.field("trail", trail_json(report));
  json.field("warnings", report.warnings);
}

}  // namespace

std::string optimize_json(const OptimizeReport& report) {
  JsonWriter json;
  json.field("schema", "assay.optimize/1");
  write_fields(report, json);
  return json.finish();
}

std::string optimize_record_json(const OptimizeReport& report) {
  JsonWriter json;
  json.field("schema", "assay.optimized_model/1");
  write_fields(report, json);
  json.field("pruning", groups_json(report.result.groups));
  json.field("low_rank", low_rank_json(report.result.low_rank));
  json.field("quantization", scales_json(report.scales));
  return json.finish();
}

std::string optimize_csv(const OptimizeReport& report) {
  std::string text;
  for (const OptimizeTrial& trial : all_versions(report)) {
    const NamedFigures figures = trial_figures(trial);
    if (text.empty()) text = csv_header(figures);
    text += csv_row(figures);
  }
  return text;
}

}  // namespace assay
