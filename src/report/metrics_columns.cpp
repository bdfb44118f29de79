#include "report/metrics_columns.h"

namespace assay::report {

namespace {

constexpr MetricMember kMetricMembers[] = {
    {"accuracy", &PerfMetrics::accuracy},
    {"accuracy_ci95_low", &PerfMetrics::accuracy_ci95_low},
    {"accuracy_ci95_high", &PerfMetrics::accuracy_ci95_high},
    {"latency_ms", &PerfMetrics::latency_ms},
    {"latency_median_ms", &PerfMetrics::latency_median_ms},
    {"latency_std_ms", &PerfMetrics::latency_std_ms},
    {"latency_p95_ms", &PerfMetrics::latency_p95_ms},
    {"latency_ci95_low_ms", &PerfMetrics::latency_ci95_low_ms},
    {"latency_ci95_high_ms", &PerfMetrics::latency_ci95_high_ms},
    {"throughput_sps", &PerfMetrics::throughput_sps},
    {"memory_mb", &PerfMetrics::memory_mb},
    {"runtime_memory_mb", &PerfMetrics::runtime_memory_mb},
    {"energy_proxy_j", &PerfMetrics::energy_proxy_j},
};

}  // namespace

std::span<const MetricMember> metric_members() {
  return kMetricMembers;
}

NamedFigures metric_figures(const PerfMetrics& metrics) {
  NamedFigures figures;
  for (const auto& [name, member] : kMetricMembers) figures.emplace_back(name, metrics.*member);
  figures.emplace_back("energy_measured_j", optional_json(metrics.energy_measured_j));
  figures.emplace_back("energy_note", metrics.energy_note);
  return figures;
}

}  // namespace assay::report
