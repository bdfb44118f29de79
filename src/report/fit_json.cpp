#include "assay/fit_report.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json device_json(const DeviceFit& fit) {
  return {{"id", fit.id},
          {"name", fit.name},
          {"bound_ms", optional_json(fit.bound_ms)},
          {"estimate_ms", optional_json(fit.estimate_ms)},
          {"estimate_low_ms", optional_json(fit.estimate_low_ms)},
          {"estimate_high_ms", optional_json(fit.estimate_high_ms)},
          {"memory_bytes", optional_json(fit.memory_bytes)},
          {"power_watts", optional_json(fit.power_watts)},
          {"energy_proxy_j", optional_json(fit.energy_proxy_j)},
          {"precision", fit.precision.empty() ? Json(nullptr) : Json(fit.precision)},
          {"verdict", name(fit.verdict)},
          {"reason", fit.reason}};
}

Json limits_json(const FitLimits& limits) {
  return {{"max_ms", optional_json(limits.max_ms)},
          {"max_mb", optional_json(limits.max_mb)},
          {"max_watts", optional_json(limits.max_watts)}};
}

}  // namespace

std::string fit_json(const FitReport& report) {
  JsonWriter json;
  json.field("schema", "assay.fit/1");
  json.field("provenance", "estimated");
  json.field("model", model_json(report.model));
  json.field("batch", report.batch);
  json.field("precision", report.precision);
  json.field("weight_bytes", report.weight_bytes);
  json.field("activation_bytes", report.activation_bytes);
  json.field("need_bytes", report.need_bytes());
  json.field("limits", limits_json(report.limits));
  json.field("calibration",
             Json{{"median_error", report.median_error}, {"wide_error", report.wide_error}});
  json.begin_list("devices");
  for (const DeviceFit& fit : report.devices) json.item(device_json(fit));
  json.end_list();
  json.field("warnings", report.warnings);
  return json.finish();
}

}  // namespace assay
