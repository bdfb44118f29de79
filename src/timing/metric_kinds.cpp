#include <array>

#include "assay/compared_metric.h"
#include "base/fail.h"

namespace assay {

namespace {

constexpr std::array<MetricKind, 14> kMetricKinds = {{
    {"latency", "ms", "median time of a run; of a sweep's row the mean"},
    {"p95", "ms", "95th percentile of the times of runs"},
    {"throughput", "samples/s", "samples per second", true},
    {"bandwidth", "GB/s", "bytes per second", true},
    {"memory_mb", "MB", "stored tensors"},
    {"runtime_memory_mb", "MB", "stored tensors and planned peak activations"},
    {"peak_memory_mb", "MB", "weights and arena as allocated"},
    {"process_memory_mb", "MB", "growth of the process"},
    {"parameters", "", "parameters"},
    {"macs", "", "multiply-accumulate operations of a run"},
    {"flops", "", "floating-point operations of a run"},
    {"bytes", "B", "parameters and activations that a run moves"},
    {"energy", "J", "energy of a run"},
    {"accuracy", "", "share of correctly classified samples, 0 to 1", true},
}};

}  // namespace

std::span<const MetricKind> metric_kinds() {
  return kMetricKinds;
}

const MetricKind& metric_kind(std::string_view name) {
  for (const MetricKind& kind : kMetricKinds) {
    if (kind.name == name) return kind;
  }
  fail_bad_input("there is no metric '{}'", name);
}

std::optional<double> ComparedMetric::ratio() const {
  if (!is_known() || *a == 0) return {};
  return *b / *a;
}

std::optional<double> ComparedMetric::best_ratio() const {
  return ratio_estimate ? std::optional(ratio_estimate->value) : ratio();
}

std::optional<double> ComparedMetric::difference() const {
  if (!is_known()) return {};
  return *b - *a;
}

}  // namespace assay
