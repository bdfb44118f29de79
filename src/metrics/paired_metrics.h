// The metrics of a version of a model, whose runs take turns with those of the model it came from:
// both meet the same conditions, so that their ratio is right on a busy machine too.
#pragma once

#include <optional>
#include <string_view>

#include "assay/metrics.h"

namespace assay::metrics {

struct PairedOptions {
  std::size_t repeats = 5;  // turns of each in a trial
  std::size_t trials = 3;   // each compiles both anew: their data then lies elsewhere
  std::size_t warmup = 3;   // runs before a trial
  double power_watts = 5;
  double latency_multiplier = 1;
  std::optional<Accuracy> known_accuracy = {};  // of the same version; else it is evaluated
  ProgramOptions program = {};                  // without a precision
};

struct PairedMetrics {
  PerfMetrics metrics = {};
  Accuracy accuracy = {};
  // The version's latency over the baseline's.
  double ratio = 1;
  double ratio_ci95_low = 1;
  double ratio_ci95_high = 1;
  int threads = 0;
};

// Times both on the first batch of the loader. Throws an Error of kind Cancelled if `progress`
// cancels.
PairedMetrics collect_paired_metrics(const Graph& version, std::string_view precision,
                                     const Graph& baseline, const Loader& loader,
                                     const PairedOptions& options, Progress* progress);

}  // namespace assay::metrics
