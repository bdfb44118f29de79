#include "assay/latency.h"
#include "assay/metrics.h"
#include "metrics/metered_energy.h"
#include "metrics/metric_parts.h"
#include "train/bound_model.h"
#include "train/target.h"

namespace assay {

using namespace assay::metrics;

PerfMetrics collect_metrics(const Graph& model, const Loader& loader, std::string_view device,
                            double power_watts, std::string_view precision,
                            double latency_multiplier, std::size_t benchmark_repeats,
                            const MetricsOptions& options, Progress* progress) {
  const ProgramOptions program =
      train::in_precision(train::on_device(options.program, device), precision);
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
  add_memory(model, bound.model, program.precision, metrics);
  add_energy(metered_energy(model, samples, program), power_watts, latency_multiplier, metrics);
  return metrics;
}

}  // namespace assay
