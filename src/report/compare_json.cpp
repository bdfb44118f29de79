#include "assay/compare_report.h"
#include "report/compare_impact.h"
#include "report/compare_words.h"
#include "report/hardware_columns.h"

namespace assay {

using namespace assay::report;

namespace {

template <typename Numbers>
Json each_json(const std::vector<ProcessSamples>& processes, Numbers ProcessSamples::*member) {
  Json all = Json::array();
  for (const auto& process : processes) all.push_back(process.*member);
  return all;
}

Json side_json(const ComparedSide& side, double median_ms) {
  const StoredProfile& profile = side.profile;
  return {{"model", profile.model},
          {"median_ms", median_ms},
          {"batch", profile.batch},
          {"threads", profile.threads},
          {"parameters", profile.parameters},
          {"flops", profile.flops},
          {"peak_memory_bytes", profile.peak_memory_bytes},
          {"peak_rss_growth_bytes", optional_json(profile.peak_rss_growth_bytes)},
          {"processes_ms", each_json(side.processes, &ProcessSamples::values)},
          {"turn_ends", each_json(side.processes, &ProcessSamples::turn_ends)}};
}

Json range_json(const std::optional<ValueRange>& range) {
  return range ? Json{range->low, range->high} : Json(nullptr);
}

Json metric_json(const ComparedMetric& metric) {
  return {{"name", metric.name},
          {"unit", metric_kind(metric.name).unit},
          {"a", optional_json(metric.a)},
          {"b", optional_json(metric.b)},
          {"ratio", optional_json(metric.ratio())},
          {"difference", optional_json(metric.difference())},
          {"exact", metric.is_exact},
          {"b_ci95", range_json(metric.b_ci95)},
          {"ratio_estimate",
           metric.ratio_estimate ? Json(metric.ratio_estimate->value) : Json(nullptr)},
          {"ratio_estimate_ci95",
           metric.ratio_estimate ? range_json(metric.ratio_estimate->ci95) : Json(nullptr)},
          {"difference_ci95", range_json(metric.difference_ci95)}};
}

Json metrics_json(const ComparedRow& row) {
  Json list = Json::array();
  for (const ComparedMetric& metric : row.metrics) list.push_back(metric_json(metric));
  return list;
}

Json gates_json(const std::vector<GateResult>& gates) {
  Json list = Json::array();
  for (const GateResult& result : gates) {
    list.push_back({{"gate", result.gate.text},
                    {"metric", result.gate.metric},
                    {"row", result.row.empty() ? Json(nullptr) : Json(result.row)},
                    {"verdict", name(result.verdict)},
                    {"reason", result.reason}});
  }
  return list;
}

void put_models(const ModelComparison& comparison, JsonWriter& json) {
  const Comparison& result = comparison.result;
  json.field("interrupted", comparison.interrupted);
  json.field("verdict", name(result.verdict));
  json.field("meaning", verdict_words(result));
  json.field("ratio", result.ratio);
  json.field("ci95_low", result.ci95_low);
  json.field("ci95_high", result.ci95_high);
  json.field("threshold", comparison.threshold);
  json.field("pairs", result.pairs);
  json.field("interleaved", comparison.interleaved);
  json.field("measured_again", comparison.measured_again);
  json.field("a", side_json(comparison.a, result.median_a));
  json.field("b", side_json(comparison.b, result.median_b));
  const auto impact = impact_of(comparison);
  json.field("impact", impact ? impact_json(*impact) : Json(nullptr));
}

void put_rows(const CompareReport& report, JsonWriter& json) {
  json.field("interleaved", false);
  json.field("a", Json{{"folder", report.a.name}});
  json.field("b", Json{{"folder", report.b.name}});
  json.begin_list("rows");
  for (const ComparedRow& row : report.rows) {
    json.item({{"name", row.name},
               {"error", row.error.empty() ? Json(nullptr) : Json(row.error)},
               {"metrics", metrics_json(row)}});
  }
  json.end_list();
}

}  // namespace

std::string compare_json(const CompareReport& report) {
  JsonWriter json;
  json.field("schema", "assay.compare/1");
  json.field("provenance", "measured");
  if (report.models) {
    put_models(*report.models, json);
    json.field("metrics", metrics_json(report.rows.front()));
  } else {
    put_rows(report, json);
  }
  json.field("gates", gates_json(report.gates));
  json.field("gates_verdict",
             report.gates.empty() ? Json(nullptr) : Json(name(worst_verdict(report.gates))));
  json.field("warnings", report.warnings);
  return json.finish();
}

}  // namespace assay
