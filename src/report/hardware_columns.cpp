#include "report/hardware_columns.h"

#include <cmath>

#include "report/csv.h"

namespace assay::report {

NamedFigures summary_figures(const HardwareSummary& summary) {
  return {
      {"estimated_total_bytes", summary.estimated_total_bytes},
      {"estimated_total_macs", summary.estimated_total_macs},
      {"achieved_bandwidth_gbps", summary.achieved_bandwidth_gbps},
      {"configured_memory_bandwidth_gbps", summary.configured_memory_bandwidth_gbps},
      {"bandwidth_utilization", summary.bandwidth_utilization},
      {"achieved_gmacs", summary.achieved_gmacs},
      {"arithmetic_intensity_macs_per_byte",
       optional_json(summary.arithmetic_intensity_macs_per_byte)},
      {"configured_peak_compute_gmacs", optional_json(summary.configured_peak_compute_gmacs)},
      {"roofline_knee_macs_per_byte", optional_json(summary.roofline_knee_macs_per_byte)},
      {"bound_regime", optional_json(summary.bound_regime)},
  };
}

std::string csv_cell(const Json& value) {
  const bool is_number = !value.is_number_float() || std::isfinite(value.get<double>());
  if (value.is_null() || !is_number) return "";
  return value.is_string() ? value.get<std::string>() : text_of(value);
}

std::string csv_header(const NamedFigures& figures) {
  std::vector<std::string> cells;
  for (const auto& [key, value] : figures) cells.push_back(key);
  return csv_line(cells);
}

std::string csv_row(const NamedFigures& figures) {
  std::vector<std::string> cells;
  for (const auto& [key, value] : figures) cells.push_back(csv_cell(value));
  return csv_line(cells);
}

Json object_of(const NamedFigures& figures) {
  Json json = Json::object();
  for (const auto& [key, value] : figures) json[key] = value;
  return json;
}

}  // namespace assay::report
