// How well a model does and what that costs, in one row: accuracy, latency, memory, energy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "assay/accuracy.h"
#include "assay/graph.h"
#include "assay/loader.h"
#include "assay/program.h"

namespace assay {

// Times and energies are for one batch. mb is 1024².
struct PerfMetrics {
  double accuracy = 0;  // 0..1
  double accuracy_ci95_low = 0;
  double accuracy_ci95_high = 0;
  double latency_ms = 0;  // the mean; all of them over the means of the repeats
  double latency_median_ms = 0;
  double latency_std_ms = 0;
  double latency_p95_ms = 0;
  double latency_ci95_low_ms = 0;
  double latency_ci95_high_ms = 0;
  double throughput_sps = 0;                     // batch / latency
  double memory_mb = 0;                          // stored tensors
  double runtime_memory_mb = 0;                  // with planned peak activations
  double energy_proxy_j = 0;                     // latency × power
  std::optional<double> energy_measured_j = {};  // where a meter exists
  std::string energy_note = "";                  // where the energies come from
};

struct MetricsOptions {
  std::size_t num_runs = 100;  // in a repeat
  std::size_t warmup = 3;      // runs before each
  ProgramOptions program = {};
};

// Evaluates the model on all samples of the loader, and times it on the first batch. Device `cpu`,
// or `cuda`, which must be there; precision `fp32` (the model as it is), `bf16` or `fp16`; `int8`
// is for quantised models. The multiplier simulates a slower processor: it multiplies every latency
// and energy, and divides the throughput. Throws an Error of kind Cancelled if `progress` cancels.
PerfMetrics collect_metrics(const Graph& model, const Loader& loader, std::string_view device,
                            double power_watts, std::string_view precision,
                            double latency_multiplier = 1.0, std::size_t benchmark_repeats = 5,
                            const MetricsOptions& options = {}, Progress* progress = nullptr);

}  // namespace assay
