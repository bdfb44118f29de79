#include <fmt/core.h>

#include <algorithm>

#include "assay/hardware_report.h"
#include "assay/sweep_report.h"
#include "base/text.h"
#include "report/sweep_parts.h"

namespace assay {

using namespace assay::report;

namespace {

using Files = std::vector<NamedFile>;

PrecisionRow precision_row(const SweepRow& row) {
  PrecisionRow short_row{
      .precision = row.precision, .accepted = is_accepted(row), .error = row.error};
  if (row.metrics) {
    short_row.accuracy = row.metrics->accuracy;
    short_row.latency_ms = row.metrics->latency_ms;
    short_row.memory_mb = row.metrics->memory_mb;
    short_row.energy_proxy_j = row.metrics->energy_proxy_j;
  }
  return short_row;
}

std::string tradeoffs_csv(const std::vector<SweepRow>& rows) {
  std::vector<PrecisionRow> short_rows;
  for (const SweepRow& row : rows) short_rows.push_back(precision_row(row));
  return precision_tradeoff_csv(precision_tradeoff_table(short_rows));
}

std::string reproducibility_json(const SweepRun& run) {
  Json json = Json::object();
  for (const auto& [key, value] : run.reproducibility) json[key] = value;
  return indented_text_of(json) + "\n";
}

void add_tables(const SweepRun& run, Files& files) {
  files.emplace_back("sweep_results.csv", sweep_results_csv(run.rows, run.config));
  files.emplace_back("pareto_frontier_latency.csv", frontier_csv(run, run.latency_frontier));
  files.emplace_back("pareto_frontier_energy.csv", frontier_csv(run, run.energy_frontier));
  files.emplace_back("pareto_frontier_memory.csv", frontier_csv(run, run.memory_frontier));
  if (std::ranges::any_of(run.rows, has_failed)) {
    files.emplace_back("sweep_errors.csv", sweep_errors_csv(run.rows));
  }
}

void add_documents(const SweepRun& run, Files& files) {
  files.emplace_back("summary.json", sweep_summary_json(run));
  files.emplace_back("reproducibility.json", reproducibility_json(run));
  for (const QuantizationMetadata& metadata : run.quantization) {
    files.emplace_back(
        fmt::format("quantization_metadata_p{}_int8.json", with_decimal(metadata.pruning_level)),
        quantization_metadata_json(metadata));
  }
}

void add_charts(const SweepRun& run, Files& files) {
  const std::pair<const char*, ParetoCost> charts[] = {{"latency", ParetoCost::Latency},
                                                       {"energy", ParetoCost::Energy},
                                                       {"memory", ParetoCost::Memory}};
  for (const auto& [name, cost] : charts) {
    files.emplace_back(fmt::format("accuracy_vs_{}.png", name), accuracy_chart_png(run, cost));
    files.emplace_back(fmt::format("accuracy_vs_{}.svg", name), accuracy_chart_svg(run, cost));
  }
}

// What the baseline's layers need; not there before it has been analysed.
void add_hardware(const SweepRun& run, Files& files) {
  files.emplace_back("precision_tradeoffs.csv", tradeoffs_csv(run.rows));
  if (run.hardware) files.emplace_back("hardware_summary.csv", hardware_summary_csv(*run.hardware));
  if (run.layers.empty()) return;
  files.emplace_back("layerwise_breakdown.csv", layer_estimates_csv(run.layers));
  const std::string& model = run.config.model;
  files.emplace_back("layerwise_activation_memory.png", activation_memory_png(run.layers, model));
  files.emplace_back("layerwise_activation_memory.svg", activation_memory_svg(run.layers, model));
  files.emplace_back("layerwise_macs.png", macs_png(run.layers, model));
  files.emplace_back("layerwise_macs.svg", macs_svg(run.layers, model));
}

}  // namespace

std::vector<NamedFile> sweep_files(const SweepRun& run) {
  Files files;
  add_tables(run, files);
  add_documents(run, files);
  add_charts(run, files);
  add_hardware(run, files);
  return files;
}

}  // namespace assay
