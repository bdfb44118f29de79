// Two sweeps, row by row, from what they stored.
#include <algorithm>
#include <cmath>

#include "assay/compare_sweeps.h"
#include "base/fail.h"

namespace assay {

namespace {

// Of B - A for independent estimates: the distances of the intervals' ends add as squares
// (Newcombe 1998; Donner and Zou 2012).
ValueRange independent_difference(double a, const ValueRange& a_ci95, double b,
                                  const ValueRange& b_ci95) {
  return {b - a - std::hypot(b - b_ci95.low, a_ci95.high - a),
          b - a + std::hypot(b_ci95.high - b, a - a_ci95.low)};
}

// Of B / A, where neither sweep knows how much processes differ.
std::optional<RatioEstimate> latency_ratio(const StoredSweepRow& a, const StoredSweepRow& b) {
  const auto is_usable = [](const StoredSweepRow& row) {
    return row.latency_ms && row.latency_ci95_ms && row.latency_ci95_ms->low > 0 &&
           *row.latency_ms > 0;
  };
  if (!is_usable(a) || !is_usable(b)) return {};
  const auto logs = [](const ValueRange& range) {
    return ValueRange{std::log(range.low), std::log(range.high)};
  };
  const double log_a = std::log(*a.latency_ms);
  const double log_b = std::log(*b.latency_ms);
  const ValueRange range =
      independent_difference(log_a, logs(*a.latency_ci95_ms), log_b, logs(*b.latency_ci95_ms));
  const double difference = log_b - log_a;
  constexpr double kScoreOfInterval = 1.96;
  const double processes =
      kScoreOfInterval * std::sqrt(2.0) * ComparisonOptions{}.assumed_process_deviation;
  return RatioEstimate{std::exp(difference),
                       {std::exp(difference - std::hypot(difference - range.low, processes)),
                        std::exp(difference + std::hypot(range.high - difference, processes))}};
}

ComparedMetric accuracy_metric(const StoredSweepRow& a, const StoredSweepRow& b) {
  ComparedMetric metric{
      .name = "accuracy", .a = a.accuracy, .b = b.accuracy, .b_ci95 = b.accuracy_ci95};
  if (metric.is_known() && a.accuracy_ci95 && b.accuracy_ci95) {
    metric.difference_ci95 =
        independent_difference(*a.accuracy, *a.accuracy_ci95, *b.accuracy, *b.accuracy_ci95);
  }
  return metric;
}

ComparedMetric throughput_metric(const StoredSweepRow& a, const StoredSweepRow& b,
                                 const std::optional<RatioEstimate>& latency) {
  ComparedMetric metric{.name = "throughput", .a = a.throughput_sps, .b = b.throughput_sps};
  if (latency) {
    metric.ratio_estimate =
        RatioEstimate{1 / latency->value, {1 / latency->ci95.high, 1 / latency->ci95.low}};
  }
  return metric;
}

// The proxy is power × latency, so its interval is the latency's.
ComparedMetric energy_metric(const StoredSweepRow& a, const StoredSweepRow& b,
                             const std::optional<RatioEstimate>& latency) {
  if (a.energy_measured_j && b.energy_measured_j) {
    return {.name = "energy", .a = a.energy_measured_j, .b = b.energy_measured_j};
  }
  return {
      .name = "energy", .a = a.energy_proxy_j, .b = b.energy_proxy_j, .ratio_estimate = latency};
}

std::vector<ComparedMetric> row_metrics(const StoredSweepRow& a, const StoredSweepRow& b) {
  const auto ratio = latency_ratio(a, b);
  std::vector<ComparedMetric> metrics = {
      {.name = "latency",
       .a = a.latency_ms,
       .b = b.latency_ms,
       .b_ci95 = b.latency_ci95_ms,
       .ratio_estimate = ratio},
      {.name = "p95", .a = a.latency_p95_ms, .b = b.latency_p95_ms},
      throughput_metric(a, b, ratio),
      {.name = "memory_mb", .a = a.memory_mb, .b = b.memory_mb, .is_exact = true},
      {.name = "runtime_memory_mb",
       .a = a.runtime_memory_mb,
       .b = b.runtime_memory_mb,
       .is_exact = true},
      energy_metric(a, b, ratio),
      accuracy_metric(a, b)};
  std::erase_if(metrics, [](const auto& metric) { return !metric.a && !metric.b; });
  return metrics;
}

const StoredSweepRow* row_named(const StoredSweep& sweep, const std::string& name) {
  const auto found = std::ranges::find(sweep.rows, name, &StoredSweepRow::name);
  return found == sweep.rows.end() ? nullptr : &*found;
}

void warn_of_lost_rows(const StoredSweep& of, const StoredSweep& other, const char* letter,
                       std::vector<std::string>& warnings) {
  for (const StoredSweepRow& row : of.rows) {
    if (row_named(other, row.name) != nullptr) continue;
    warnings.push_back(fmt::format("'{}' is only in {}", row.name, letter));
  }
}

}  // namespace

CompareReport compare_sweeps(const StoredSweep& a, const StoredSweep& b) {
  CompareReport report{.a = {a.folder}, .b = {b.folder}};
  for (const StoredSweepRow& before : a.rows) {
    const StoredSweepRow* after = row_named(b, before.name);
    if (after == nullptr || !before.error.empty()) continue;
    ComparedRow row{.name = before.name, .error = after->error};
    if (row.error.empty()) row.metrics = row_metrics(before, *after);
    report.rows.push_back(std::move(row));
  }
  if (report.rows.empty()) {
    fail_bad_input("{} and {} have no row in common that worked in the first", a.folder, b.folder);
  }
  report.how = fmt::format("{} {} from stored sweeps, not run in turn", report.rows.size(),
                           report.rows.size() == 1 ? "row" : "rows");
  warn_of_lost_rows(a, b, "A", report.warnings);
  warn_of_lost_rows(b, a, "B", report.warnings);
  report.warnings.emplace_back(
      "stored sweeps were not run in turns: other load on the machine may be part of the "
      "difference");
  return report;
}

}  // namespace assay
