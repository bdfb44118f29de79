#include "report/sweep_columns.h"

#include <algorithm>

#include "assay/memory_budget.h"
#include "report/metrics_columns.h"
#include "report/sweep_parts.h"

namespace assay::report {

namespace {

void append_figures(NamedFigures& all, const NamedFigures& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Json violation_json(const SweepRow& row, const std::string& name) {
  const auto found =
      std::ranges::find(row.violations, name, [](const auto& one) { return one.first; });
  return row.metrics && found != row.violations.end() ? Json(found->second) : Json(nullptr);
}

Json ratio_json(const SweepRow& row, double LatencyRatio::*member) {
  return row.latency_vs_baseline ? Json((*row.latency_vs_baseline).*member) : Json(nullptr);
}

}  // namespace

std::vector<std::string> violation_names(const SweepConfig& config) {
  std::vector<std::string> names;
  for (const auto& [name, is_violated] : memory_violations(0, config.memory_budgets_mb)) {
    names.push_back(name);
  }
  return names;
}

NamedFigures measured_figures(const SweepRow& row, const std::vector<std::string>& violations) {
  NamedFigures figures = metric_figures(row.metrics.value_or(PerfMetrics{}));
  for (auto& [name, value] : figures) {
    if (!row.metrics) value = nullptr;
  }
  for (const std::string& name : violations) figures.emplace_back(name, violation_json(row, name));
  return figures;
}

NamedFigures sweep_figures(const SweepRow& row, const std::vector<std::string>& violations) {
  NamedFigures figures = {{"pruning_level", row.pruning_level},
                          {"precision", row.precision},
                          {"accepted", is_accepted(row)},
                          {"error", row.error},
                          {"active_budget_mb", row.active_budget_mb}};
  append_figures(figures, measured_figures(row, violations));
  append_figures(figures,
                 {{"seed", row.seed},
                  {"batch_size", row.batch_size},
                  {"threads", row.threads},
                  {"latency_vs_baseline", ratio_json(row, &LatencyRatio::ratio)},
                  {"latency_vs_baseline_ci95_low", ratio_json(row, &LatencyRatio::ci95_low)},
                  {"latency_vs_baseline_ci95_high", ratio_json(row, &LatencyRatio::ci95_high)},
                  {"host", row.machine.host},
                  {"processor", row.machine.processor},
                  {"machine", row.machine.fingerprint},
                  {"task", row.task}});
  return figures;
}

NamedFigures version_figures(const SweepRow& row) {
  return {{"pruning_level", row.pruning_level},
          {"precision", row.precision},
          {"batch_size", row.batch_size},
          {"threads", row.threads}};
}

}  // namespace assay::report
