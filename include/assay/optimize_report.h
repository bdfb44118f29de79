// What `ModelOptimizer` did to a model, as people and programs read it: the versions tried, the
// original and the version written side by side, and a record of how that version was made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/compare_report.h"
#include "assay/count.h"
#include "assay/layout.h"
#include "assay/optimize.h"

namespace assay {

struct WrittenModel {
  std::string path = "";  // empty: none was written
  std::string sha256 = "";
  std::int64_t bytes = 0;
  std::string record = "";  // path of the JSON beside it
};

struct OptimizeReport {
  ModelSummary model = {};
  std::int64_t batch = 1;
  int threads = 0;
  double power_watts = 5;  // energy_proxy_j is this power × latency
  OptimizeGoal goal = {};
  std::optional<double> target_share = {};  // of the original's latency, if `target_ms` is that
  std::string device = "";                  // whose latency the target is for; empty: this machine
  OptimizeResult result = {};
  // The original and the version written, measured in turns; missing where none was written.
  std::optional<ModelComparison> comparison = {};
  bool met = false;  // the target, by that comparison
  // Versions that met the target when the search timed them, but not in such a comparison.
  std::vector<VariantRecipe> unconfirmed = {};
  WrittenModel written = {};
  std::string calibrated_on = "";
  std::string judged_on = "";
  // How the version was made, in the words of the options: "criterion" → "l1".
  std::vector<std::pair<std::string, std::string>> choices = {};
  std::vector<TensorScale> scales = {};
  std::vector<LayerSensitivity> sensitivities = {};  // in execution order, where asked for
  std::vector<std::string> warnings = {};
};

std::string optimize_table(const OptimizeReport& report, const Layout& layout = {});
std::string optimize_json(const OptimizeReport& report);
// A header and a row for every version, the original first.
std::string optimize_csv(const OptimizeReport& report);
// What is stored beside the model: the same as `optimize_json`, with scales and zero points.
std::string optimize_record_json(const OptimizeReport& report);

// How much each layer alone loses in 8 bits, the worst first; long lists are cut.
std::string sensitivity_table(const std::vector<LayerSensitivity>& layers,
                              const Layout& layout = {});
std::string sensitivity_csv(const std::vector<LayerSensitivity>& layers);
// Bars of the output's error, in execution order, as PNG of 180 DPI. Beyond 600 layers only the
// worst are drawn.
std::string sensitivity_png(const std::vector<LayerSensitivity>& layers,
                            const std::string& model = "");
std::string sensitivity_svg(const std::vector<LayerSensitivity>& layers,
                            const std::string& model = "");

}  // namespace assay
