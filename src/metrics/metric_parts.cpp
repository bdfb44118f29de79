#include "metrics/metric_parts.h"

#include <cmath>

#include "assay/memory.h"
#include "assay/memory_budget.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "stats/order_statistics.h"
#include "stats/student.h"

namespace assay::metrics {

void check_positive(const char* what, double value) {
  if (value > 0 && std::isfinite(value)) return;
  fail_usage("the {} is {}: expected a finite number above 0", what, value);
}

void add_accuracy(const Accuracy& accuracy, PerfMetrics& metrics) {
  metrics.accuracy = accuracy.value;
  metrics.accuracy_ci95_low = accuracy.ci95_low;
  metrics.accuracy_ci95_high = accuracy.ci95_high;
}

void add_latency(const LatencyDistribution& latency, double multiplier, std::int64_t batch_size,
                 PerfMetrics& metrics) {
  metrics.latency_ms = latency.mean_ms * multiplier;
  metrics.latency_median_ms = latency.median_ms * multiplier;
  metrics.latency_std_ms = latency.std_ms * multiplier;
  metrics.latency_p95_ms = latency.p95_ms * multiplier;
  metrics.latency_ci95_low_ms = latency.ci95_low_ms * multiplier;
  metrics.latency_ci95_high_ms = latency.ci95_high_ms * multiplier;
  metrics.throughput_sps = static_cast<double>(batch_size) / (metrics.latency_ms * 1e-3);
}

void add_energy(const EnergyEstimate& measured, double power_watts, double multiplier,
                PerfMetrics& metrics) {
  const EnergyEstimate proxy = energy_by_proxy(power_watts, metrics.latency_ms);
  metrics.energy_proxy_j = proxy.proxy_j.value_or(0);
  metrics.energy_note = measured.note + "; " + proxy.note;
  if (!measured.gross_j_per_run) return;
  metrics.energy_measured_j = *measured.gross_j_per_run * multiplier;
  if (multiplier != 1) {
    metrics.energy_note +=
        fmt::format("; measured joules are times {}, as latencies are", multiplier);
  }
}

void add_memory(const Graph& model, const Inferred& bound, std::optional<DataType> precision,
                PerfMetrics& metrics) {
  if (precision == DataType::Int8) precision.reset();  // it is stored so already
  metrics.memory_mb = model_memory_mb(model, precision);
  metrics.runtime_memory_mb =
      metrics.memory_mb + in_mb(plan_memory(bound, {.stored_as = precision}).arena_bytes);
}

LatencyDistribution distribution_of(std::vector<double> means, std::vector<double> samples) {
  const auto ascending = stats::sorted(means);
  const double median_ms = stats::median(means);
  const stats::Moments spread = stats::moments(means);
  const auto count = static_cast<double>(means.size());
  const double half =
      stats::student_t(means.size() - 1) * spread.standard_deviation / std::sqrt(count);
  return {.mean_ms = spread.mean,
          .std_ms = spread.standard_deviation,
          .p95_ms = stats::quantile_of_sorted(ascending, 0.95),
          .median_ms = median_ms,
          .min_ms = ascending.front(),
          .max_ms = ascending.back(),
          .ci95_low_ms = spread.mean - half,
          .ci95_high_ms = spread.mean + half,
          .repeat_means_ms = std::move(means),
          .samples_ms = std::move(samples)};
}

}  // namespace assay::metrics
