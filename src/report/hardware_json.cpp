#include "assay/hardware_report.h"
#include "report/hardware_columns.h"

namespace assay {

using namespace assay::report;

namespace {

Json device_json(const DeviceComparisonRow& row) {
  Json json = {{"device", row.device.name}};
  json.update(hardware_summary_object(row.summary));
  json["roofline_latency_ms"] = row.roofline_latency_ms;
  json["note"] = row.device.note;
  return json;
}

Json read_summary_json(const HardwareSummary& summary, const UtilizationReading& reading) {
  Json json = {{"provenance", "estimated"}};
  json.update(hardware_summary_object(summary));
  json["reading"] = reading.sentence;
  json["advice"] = reading.advice;
  json["limits"] = hardware_summary_limits();
  return json;
}

}  // namespace

Json report::hardware_summary_object(const HardwareSummary& summary) {
  Json json = object_of(summary_figures(summary));
  if (!summary.configured_peak_compute_gmacs) {
    for (const char* key :
         {"configured_peak_compute_gmacs", "roofline_knee_macs_per_byte", "bound_regime"}) {
      json.erase(key);
    }
  }
  json["latency_ms"] = summary.latency_ms;
  json["clamped"] = Json::array();
  if (summary.is_latency_clamped) json["clamped"].push_back("latency");
  if (summary.is_bandwidth_clamped) json["clamped"].push_back("bandwidth");
  json["utilization_class"] = name(utilization_class(summary.bandwidth_utilization));
  return json;
}

Json report::hardware_json(const HardwareReport& report) {
  Json json = read_summary_json(report.summary, report.reading);
  json["devices"] = Json::array();
  for (const auto& row : report.devices) json["devices"].push_back(device_json(row));
  return json;
}

std::string hardware_summary_json(const HardwareSummary& summary,
                                  const UtilizationReading& reading) {
  Json json = {{"schema", "assay.hardware_summary/1"}};
  json.update(read_summary_json(summary, reading));
  return text_of(json) + "\n";
}

std::string device_comparison_json(const std::vector<DeviceComparisonRow>& rows) {
  JsonWriter json;
  json.field("schema", "assay.device_comparison/1");
  json.field("provenance", "estimated");
  json.begin_list("devices");
  for (const auto& row : rows) json.item(device_json(row));
  json.end_list();
  json.field("limits", hardware_summary_limits());
  return json.finish();
}

Json report::impact_json(const HardwareImpact& impact) {
  Json json = Json::object();
  for (const ImpactFigure& figure : impact) {
    json[figure.name] = {{"before", figure.before},
                         {"after", figure.after},
                         {"change_percent", optional_json(figure.change_percent)}};
  }
  return json;
}

std::string hardware_impact_json(const HardwareImpact& impact) {
  Json json = {{"schema", "assay.hardware_impact/1"}, {"provenance", "estimated"}};
  json.update(impact_json(impact));
  return text_of(json) + "\n";
}

}  // namespace assay
