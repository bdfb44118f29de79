#include "assay/hardware_report.h"
#include "report/hardware_columns.h"

namespace assay {

using namespace assay::report;

namespace {

// The header is made from an empty record, so that it always matches the rows.
template <typename Record, typename Figures>
std::string csv_of(const std::vector<Record>& records, const Figures& figures) {
  std::string text = csv_header(figures(Record{}));
  for (const Record& record : records) text += csv_row(figures(record));
  return text;
}

NamedFigures layer_figures(const LayerEstimate& layer) {
  return {{"layer", layer.layer},
          {"output_elements", layer.output_elements},
          {"parameter_bytes", layer.parameter_bytes},
          {"activation_bytes", layer.activation_bytes},
          {"macs", layer.macs}};
}

NamedFigures tradeoff_figures(const PrecisionTradeoff& row) {
  return {{"precision", row.precision},
          {"accuracy_mean", optional_json(row.accuracy_mean)},
          {"latency_ms_mean", optional_json(row.latency_ms_mean)},
          {"memory_mb_mean", optional_json(row.memory_mb_mean)},
          {"energy_proxy_j_mean", optional_json(row.energy_proxy_j_mean)},
          {"accepted_ratio", row.accepted_ratio}};
}

NamedFigures flagged_figures(const HardwareSummary& summary) {
  NamedFigures figures = summary_figures(summary);
  figures.emplace_back("clamped", clamped_figures(summary));
  return figures;
}

NamedFigures device_figures(const DeviceComparisonRow& row) {
  NamedFigures figures = {{"device", row.device.name}};
  for (auto& figure : flagged_figures(row.summary)) figures.push_back(std::move(figure));
  figures.emplace_back("utilization_class",
                       name(utilization_class(row.summary.bandwidth_utilization)));
  figures.emplace_back("roofline_latency_ms", row.roofline_latency_ms);
  figures.emplace_back("note", row.device.note);
  return figures;
}

NamedFigures impact_figures(const ImpactFigure& figure) {
  return {{"figure", figure.name},
          {"before", figure.before},
          {"after", figure.after},
          {"change_percent", optional_json(figure.change_percent)}};
}

}  // namespace

std::string hardware_summary_csv(const HardwareSummary& summary) {
  return csv_of(std::vector{summary}, flagged_figures);
}

std::string device_comparison_csv(const std::vector<DeviceComparisonRow>& rows) {
  return csv_of(rows, device_figures);
}

std::string hardware_impact_csv(const HardwareImpact& impact) {
  return csv_of(std::vector(impact.begin(), impact.end()), impact_figures);
}

std::string precision_tradeoff_csv(const std::vector<PrecisionTradeoff>& table) {
  return csv_of(table, tradeoff_figures);
}

std::string layer_estimates_csv(const std::vector<LayerEstimate>& layers) {
  return csv_of(layers, layer_figures);
}

}  // namespace assay
