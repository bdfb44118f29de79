#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "assay/sweep_result.h"
#include "stats/order_statistics.h"
#include "stats/student.h"

namespace assay {

namespace {

using MetricOf = std::function<std::optional<double>(const PerfMetrics&)>;

const std::vector<std::pair<std::string, MetricOf>>& aggregated_metrics() {
  static const std::vector<std::pair<std::string, MetricOf>> metrics = {
      {"accuracy", [](const PerfMetrics& m) { return m.accuracy; }},
      {"latency_ms", [](const PerfMetrics& m) { return m.latency_ms; }},
      {"latency_median_ms", [](const PerfMetrics& m) { return m.latency_median_ms; }},
      {"latency_p95_ms", [](const PerfMetrics& m) { return m.latency_p95_ms; }},
      {"throughput_sps", [](const PerfMetrics& m) { return m.throughput_sps; }},
      {"memory_mb", [](const PerfMetrics& m) { return m.memory_mb; }},
      {"runtime_memory_mb", [](const PerfMetrics& m) { return m.runtime_memory_mb; }},
      {"energy_proxy_j", [](const PerfMetrics& m) { return m.energy_proxy_j; }},
      {"energy_measured_j", [](const PerfMetrics& m) { return m.energy_measured_j; }},
  };
  return metrics;
}

// The same version on the same kind of machine, whatever the seed.
using VersionKey = std::tuple<double, std::string, std::int64_t, int, std::string>;

VersionKey version_key(const SweepRow& row) {
  return {row.pruning_level, row.precision, row.batch_size, row.threads, row.machine.fingerprint};
}

SeedAggregate aggregate_of(const std::vector<const SweepRow*>& rows) {
  const SweepRow& first = *rows.front();
  SeedAggregate aggregate{.pruning_level = first.pruning_level,
                          .precision = first.precision,
                          .batch_size = first.batch_size,
                          .threads = first.threads,
                          .machine = first.machine.fingerprint,
                          .runs = rows.size()};
  for (const SweepRow* row : rows) {
    aggregate.failed += row->metrics ? 0 : 1;
    aggregate.accepted += row->accepted ? 1 : 0;
  }
  for (const auto& [name, metric] : aggregated_metrics()) {
    std::vector<double> values;
    for (const SweepRow* row : rows) {
      const auto value = row->metrics ? metric(*row->metrics) : std::nullopt;
      if (value) values.push_back(*value);
    }
    if (!values.empty()) aggregate.figures.emplace_back(name, spread_of(values));
  }
  return aggregate;
}

}  // namespace

const std::vector<std::string>& aggregated_figures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, metric] : aggregated_metrics()) all.push_back(name);
    return all;
  }();
  return names;
}

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  const stats::Moments moments = stats::moments(values);
  const double half = stats::student_t(values.size() - 1) * moments.standard_deviation /
                      std::sqrt(static_cast<double>(values.size()));
  return {.count = values.size(),
          .mean = moments.mean,
          .std = moments.standard_deviation,
          .min = std::ranges::min(values),
          .max = std::ranges::max(values),
          .ci95_low = moments.mean - half,
          .ci95_high = moments.mean + half};
}

std::vector<SeedAggregate> aggregate_seeds(const std::vector<SweepRow>& rows) {
  std::map<VersionKey, std::size_t> positions;  // of versions among the groups
  std::vector<std::vector<const SweepRow*>> groups;
  for (const SweepRow& row : rows) {
    const auto [position, is_new] = positions.try_emplace(version_key(row), groups.size());
    if (is_new) groups.emplace_back();
    groups[position->second].push_back(&row);
  }
  std::vector<SeedAggregate> aggregates;
  for (const auto& group : groups) aggregates.push_back(aggregate_of(group));
  return aggregates;
}

}  // namespace assay
