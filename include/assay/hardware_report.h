// Hardware summaries as people and programs read them, and as a folder of files. Tables fit 80
// columns; JSON is one object, CSV a header and rows; a figure that is not there is "-", null or
// empty.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "assay/hardware_comparison.h"
#include "assay/hardware_summary.h"
#include "assay/layout.h"
#include "assay/precision_tradeoff.h"

namespace assay {

// The summary with its class, its advice and its limits.
std::string hardware_summary_table(const HardwareSummary& summary,
                                   const UtilizationReading& reading);
std::string hardware_summary_json(const HardwareSummary& summary,
                                  const UtilizationReading& reading);
// One row; columns that need a peak are there without one too, empty. `clamped` is the last.
std::string hardware_summary_csv(const HardwareSummary& summary);

// A summary with the same model on other devices, as one report.
struct HardwareReport {
  HardwareSummary summary = {};
  UtilizationReading reading = {};
  std::vector<DeviceComparisonRow> devices = {};
};
std::string hardware_report_table(const HardwareReport& report, const Layout& layout = {});

std::string device_comparison_table(const std::vector<DeviceComparisonRow>& rows,
                                    const Layout& layout = {});
std::string device_comparison_json(const std::vector<DeviceComparisonRow>& rows);
std::string device_comparison_csv(const std::vector<DeviceComparisonRow>& rows);

std::string hardware_impact_table(const HardwareImpact& impact, const Layout& layout = {});
std::string hardware_impact_json(const HardwareImpact& impact);
std::string hardware_impact_csv(const HardwareImpact& impact);

std::string precision_tradeoff_text(const std::vector<PrecisionTradeoff>& table);
std::string precision_tradeoff_csv(const std::vector<PrecisionTradeoff>& table);

std::string layer_estimates_csv(const std::vector<LayerEstimate>& layers);

// Bar charts, as PNG of 180 DPI or as SVG, titled by the model. Beyond 600 layers the smallest
// share one visible bar.
std::string activation_memory_png(const std::vector<LayerEstimate>& layers,
                                  const std::string& model = "");
std::string activation_memory_svg(const std::vector<LayerEstimate>& layers,
                                  const std::string& model = "");
std::string macs_png(const std::vector<LayerEstimate>& layers, const std::string& model = "");
std::string macs_svg(const std::vector<LayerEstimate>& layers, const std::string& model = "");

// Writes layerwise_breakdown.csv, precision_tradeoffs.csv, hardware_summary.csv,
// layerwise_activation_memory.png and layerwise_macs.png into `folder`, which is made if it is not
// there, and returns their paths. Each appears whole or not at all; nothing is written before all
// of them could be made.
std::vector<std::filesystem::path> save_hardware_artifacts(
    const std::filesystem::path& folder, const std::vector<LayerEstimate>& layers,
    const std::vector<PrecisionTradeoff>& precision_table, const HardwareSummary& summary,
    const std::string& model = "");
// The same without precision_tradeoffs.csv, for one version of a model.
std::vector<std::filesystem::path> save_layer_artifacts(const std::filesystem::path& folder,
                                                        const std::vector<LayerEstimate>& layers,
                                                        const HardwareSummary& summary,
                                                        const std::string& model = "");

}  // namespace assay
