#include "assay/stream_report.h"
#include "report/display_names.h"
#include "report/json_parts.h"
#include "report/stream_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json operator_json(const OperatorProfile& row, const DisplayNames& names) {
  Json json = {{"operator", row.operator_name},
               {"latency_ms", optional_json(row.latency_ms)},
               {"memory_kb", optional_json(row.memory_kb)},
               {"bound", row.bound ? Json(name(*row.bound)) : Json(nullptr)},
               {"bound_level", row.bound_level.empty() ? Json(nullptr) : Json(row.bound_level)},
               {"fused", row.fused}};
  const std::string label = names.of(row.operator_name);
  if (label != row.operator_name) json["label"] = label;
  return json;
}

Json stream_totals_json(const StreamTotals& totals) {
  Json json = Json::object();
  for (const auto& [key, value] : total_figures(totals)) json[key] = value;
  return json;
}

Json precision_json(const PrecisionTradeoffs& tradeoffs) {
  return {{"fp32_memory_kb", tradeoffs.fp32_memory_kb},
          {"fp16_memory_kb", tradeoffs.fp16_memory_kb},
          {"int8_memory_kb", tradeoffs.int8_memory_kb},
          {"note", tradeoffs.note}};
}

Json forecast_json(const StreamForecast& forecast) {
  return {{"basis", forecast.is_calibrated ? "calibration" : "lower bound"},
          {"verdict", name(forecast.outlook)},
          {"reason", forecast.reason},
          {"latency_low_ms", optional_json(forecast.latency_low_ms)},
          {"latency_high_ms", optional_json(forecast.latency_high_ms)}};
}

void put_tail(const char* key, const std::optional<double>& tail, Json& json) {
  if (tail) json[key] = *tail;
}

Json delays_json(const DelaySummary& delays) {
  Json json = {{"mean_ms", delays.mean_ms}, {"median_ms", delays.median_ms}};
  put_tail("p90_ms", delays.p90_ms, json);
  put_tail("p95_ms", delays.p95_ms, json);
  put_tail("p99_ms", delays.p99_ms, json);
  json["max_ms"] = delays.max_ms;
  return json;
}

Json measured_json(const std::optional<StreamMeasurement>& measured) {
  if (!measured) return nullptr;
  return {{"provenance", "measured"},
          {"interval_ms", measured->interval_ms},
          {"deadline_ms", measured->deadline_ms},
          {"verdict", name(measured->verdict)},
          {"reason", measured->reason},
          {"arrived", measured->arrived},
          {"served", measured->items.size()},
          {"unserved", measured->unserved},
          {"missed_deadlines", measured->missed_deadlines},
          {"missed_share", measured->missed_share()},
          {"largest_backlog", measured->largest_backlog},
          {"elapsed_ms", measured->elapsed_ms},
          {"busy_ms", measured->busy_ms},
          {"utilization", measured->utilization},
          {"service", delays_json(measured->service)},
          {"queueing", delays_json(measured->queueing)},
          {"response", delays_json(measured->response)},
          {"interrupted", measured->cancelled}};
}

Json search_json(const std::optional<IntervalSearch>& search) {
  if (!search) return nullptr;
  Json probes = Json::array();
  for (const IntervalProbe& probe : search->probes) {
    probes.push_back({{"interval_ms", probe.interval_ms},
                      {"verdict", name(probe.verdict)},
                      {"utilization", probe.utilization},
                      {"missed_share", probe.missed_share},
                      {"sustainable", probe.is_sustainable}});
  }
  return {{"provenance", "measured"},          {"interval_ms", optional_json(search->interval_ms)},
          {"confirmed", search->is_confirmed}, {"elapsed_seconds", search->elapsed_seconds},
          {"interrupted", search->cancelled},  {"probes", std::move(probes)}};
}

Json deployment_json(const std::optional<Deployment>& deployment) {
  if (!deployment) return nullptr;
  return {{"provenance", "measured"},
          {"batch", deployment->batch},
          {"rounds", deployment->rounds},
          {"batch_latency_ms", deployment->batch_latency_ms},
          {"batch_throughput_sps", deployment->batch_throughput_sps},
          {"stream_avg_latency_ms", deployment->stream_avg_latency_ms},
          {"stream_throughput_sps", deployment->stream_throughput_sps},
          {"interrupted", deployment->cancelled}};
}

}  // namespace

std::string stream_json(const StreamReport& report) {
  const HardwareProfile& profile = report.profile;
  JsonWriter json;
  json.field("schema", "assay.stream/1");
  json.field("provenance", "estimated");
  json.field("model", model_json(profile.model));
  json.field("options", {{"batch", profile.batch},
                         {"stream_interval_ms", profile.stream_interval_ms},
                         {"threads", profile.roofline.threads}});
  json.begin_list("operator_profile");
  const DisplayNames names = operator_names(profile);
  for (const OperatorProfile& row : profile.operator_profile) json.item(operator_json(row, names));
  json.end_list();
  json.field("totals", stream_totals_json(profile.totals));
  json.field("precision_tradeoffs", precision_json(profile.precision_tradeoffs));
  json.field("edge_constraints", {{"cache_sensitivity", profile.edge_constraints.cache_sensitivity},
                                  {"bottleneck", profile.edge_constraints.bottleneck}});
  json.field("forecast", forecast_json(profile.forecast));
  json.field("stored_bytes", profile.stored_bytes);
  json.field("activation_bytes", profile.activation_bytes);
  json.field("step_overhead_ms", profile.roofline.step_overhead_ms);
  json.field("measured", measured_json(report.streamed.measured));
  json.field("shortest_interval", search_json(report.streamed.search));
  json.field("deployment", deployment_json(report.deployment));
  json.field("warnings", profile.warnings);
  return json.finish();
}

}  // namespace assay
