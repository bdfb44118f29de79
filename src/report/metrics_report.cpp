#include "assay/metrics_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/metrics_columns.h"

namespace assay {

using namespace assay::report;

namespace {

NamedFigures with_violations(const MetricsReport& report) {
  NamedFigures figures = metric_figures(report.metrics);
  for (const auto& [name, is_violated] : report.violations) {
    figures.emplace_back(name, is_violated);
  }
  return figures;
}

Json metrics_setting_json(const MetricsReport& report) {
  return {{"device", report.device},
          {"precision", report.precision},
          {"batch", report.batch},
          {"threads", report.threads},
          {"power_watts", report.power_watts},
          {"latency_multiplier", report.latency_multiplier},
          {"benchmark_repeats", report.repeats}};
}

Json dataset_json(const EvaluatedOn& dataset) {
  return {{"name", dataset.name},
          {"source", dataset.source},
          {"sha256", dataset.sha256},
          {"size", dataset.size}};
}

std::string metrics_setting_text(const MetricsReport& report) {
  std::string text = fmt::format("{}, {}, batch {}, {}, {} {}", report.device, report.precision,
                                 report.batch, team_text(report.threads), report.repeats,
                                 report.repeats == 1 ? "repeat" : "repeats");
  if (report.latency_multiplier != 1) {
    text += fmt::format(", latencies × {:g}", report.latency_multiplier);
  }
  return text;
}

std::string accuracy_text(const PerfMetrics& metrics) {
  return fmt::format("{:.2f} %   95 % interval {:.2f} to {:.2f} %", 100 * metrics.accuracy,
                     100 * metrics.accuracy_ci95_low, 100 * metrics.accuracy_ci95_high);
}

// With few repeats the interval may reach below 0, which no latency does.
std::string metrics_latency_text(const PerfMetrics& metrics) {
  return fmt::format("{} mean, {} median, {} p95, standard deviation {}; 95 % interval {} to {}",
                     duration_text(metrics.latency_ms), duration_text(metrics.latency_median_ms),
                     duration_text(metrics.latency_p95_ms), duration_text(metrics.latency_std_ms),
                     duration_text(std::max(0.0, metrics.latency_ci95_low_ms)),
                     duration_text(metrics.latency_ci95_high_ms));
}

std::string energy_text(const PerfMetrics& metrics) {
  std::string text = joules_text(metrics.energy_proxy_j) + " by proxy";
  if (metrics.energy_measured_j) {
    text = joules_text(*metrics.energy_measured_j) + " measured, " + text;
  }
  return text + ": " + metrics.energy_note;
}

std::string violations_text(const MetricsReport& report) {
  std::vector<std::string> parts;
  for (const auto& [name, is_violated] : report.violations) {
    parts.push_back(fmt::format("{} {}", name, is_violated ? "yes" : "no"));
  }
  return join(parts, ", ");
}

}  // namespace

EvaluatedOn evaluated_on(const Dataset& dataset) {
  return {dataset.name, dataset.source, fingerprint(dataset), dataset.size()};
}

std::string metrics_table(const MetricsReport& report) {
  const PerfMetrics& metrics = report.metrics;
  return headline(report.model) + "\n" +
         labelled("data", fmt::format("{}: {} samples", report.dataset.name,
                                      with_thousands(report.dataset.size))) +
         labelled("setting", metrics_setting_text(report)) +
         labelled("accuracy", accuracy_text(metrics)) +
         labelled("latency", metrics_latency_text(metrics)) +
         labelled("throughput", any_rate_text(metrics.throughput_sps) + " samples/s") +
         labelled("memory", fmt::format("{} MB stored, {} MB with planned activations",
                                        any_rate_text(metrics.memory_mb),
                                        any_rate_text(metrics.runtime_memory_mb))) +
         labelled("energy", energy_text(metrics)) + labelled("budgets", violations_text(report));
}

std::string metrics_json(const MetricsReport& report) {
  Json json = {{"schema", "assay.evaluate/1"}, {"provenance", "measured"}};
  json["model"] = model_json(report.model);
  json["dataset"] = dataset_json(report.dataset);
  json["options"] = metrics_setting_json(report);
  json.update(object_of(with_violations(report)));
  json["warnings"] = report.warnings;
  return text_of(json) + "\n";
}

std::string metrics_csv(const MetricsReport& report) {
  const NamedFigures figures = with_violations(report);
  return csv_header(figures) + csv_row(figures);
}

}  // namespace assay
