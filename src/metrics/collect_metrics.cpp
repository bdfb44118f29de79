#include <cmath>

#include "assay/energy.h"
#include "assay/latency.h"
#include "assay/memory.h"
#include "assay/memory_budget.h"
#include "assay/metrics.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "metrics/metered_energy.h"
#include "train/bound_model.h"
#include "train/target.h"

namespace assay {

namespace {

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

}  // namespace

PerfMetrics collect_metrics(const Graph& model, const Loader& loader, std::string_view device,
                            double power_watts, std::string_view precision,
                            double latency_multiplier, std::size_t benchmark_repeats,
                            const MetricsOptions& options, Progress* progress) {
  train::check_device(device);
  const ProgramOptions program = train::in_precision(options.program, precision);
  std::optional<DataType> stored_as = program.precision;
  if (stored_as == DataType::Int8) stored_as.reset();  // it is stored so already
  check_positive("power in watts", power_watts);
  check_positive("latency multiplier", latency_multiplier);
  const Batch batch = loader.batch(0);
  const std::int64_t batch_size = batch.labels.elements();
  const train::BoundModel bound = train::bind_to_data(model, loader.dataset(), batch_size);
  const Tensor samples = train::fitted_samples(batch.samples, bound);
  PerfMetrics metrics;
  add_accuracy(evaluate(model, loader, {.program = program}, progress).accuracy, metrics);
  add_latency(measure_latency_distribution(model, samples, benchmark_repeats, options.num_runs,
                                           options.warmup, program, progress),
              latency_multiplier, batch_size, metrics);
  metrics.memory_mb = model_memory_mb(model, stored_as);
  metrics.runtime_memory_mb =
      metrics.memory_mb + in_mb(plan_memory(bound.model, {.stored_as = stored_as}).arena_bytes);
  add_energy(metrics::metered_energy(model, samples, program), power_watts, latency_multiplier,
             metrics);
  return metrics;
}

}  // namespace assay
