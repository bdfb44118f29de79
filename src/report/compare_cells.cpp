#include "report/compare_cells.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"
#include "report/figures.h"

namespace assay::report {

namespace {

std::string metric_text(const MetricKind& kind, double value) {
  if (kind.unit == "ms") return duration_text(value);
  if (kind.unit == "MB") return fmt::format("{} MB", any_rate_text(value));
  if (kind.unit == "B") return with_binary_unit(value);
  if (kind.unit == "J") return joules_text(value);
  if (kind.unit == "GB/s") return any_rate_text(value) + " GB/s";
  if (kind.name == "accuracy") return fmt::format("{:.4f}", value);
  if (kind.name == "parameters") return with_thousands(std::llround(value));
  return kind.unit.empty() ? with_si_suffix(value) : rate_text(value) + "/s";
}

std::string value_cell(const MetricKind& kind, const std::optional<double>& value) {
  return value ? metric_text(kind, *value) : "-";
}

std::string points_text(const ComparedMetric& metric) {
  const auto change = metric.difference();
  if (!change) return "-";
  const std::string text = fmt::format("{:+.2f} points", 100 * *change);
  if (!metric.difference_ci95) return text;
  return fmt::format("{} ({:+.2f} to {:+.2f})", text, 100 * metric.difference_ci95->low,
                     100 * metric.difference_ci95->high);
}

std::string change_cell(const ComparedMetric& metric) {
  if (metric.name == "accuracy") return points_text(metric);
  const auto ratio = metric.best_ratio();
  if (!ratio) return "-";
  const std::string text = fmt::format("{:+.1f} %", 100 * (*ratio - 1));
  if (metric.is_exact || !metric.ratio_estimate) return text;
  const ValueRange& ci95 = metric.ratio_estimate->ci95;
  return fmt::format("{} ({:+.1f} to {:+.1f})", text, 100 * (ci95.low - 1), 100 * (ci95.high - 1));
}

}  // namespace

std::vector<std::string> metric_titles() {
  return {"", "A", "B", "B / A", "change (95 % interval)"};
}

std::vector<std::string> metric_cells(const ComparedMetric& metric) {
  const MetricKind& kind = metric_kind(metric.name);
  const auto ratio = metric.ratio();
  return {metric.name, value_cell(kind, metric.a), value_cell(kind, metric.b),
          ratio ? fmt::format("{:.3f}", *ratio) : "-", change_cell(metric)};
}

}  // namespace assay::report
