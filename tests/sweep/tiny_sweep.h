// A sweep that takes a fraction of a second.
#pragma once

#include <string>

#include "assay/sweep_config.h"

namespace assay {

inline SweepConfig tiny_sweep(const std::string& folder) {
  SweepConfig config;
  config.dataset = "synthetic";
  config.train_subset = 128;
  config.val_subset = 64;
  config.batch_size = 32;
  config.epochs = 1;
  config.pruning_levels = {0.0, 0.5};
  config.precisions = {"fp32", "int8"};
  config.calibration_batches = 2;
  config.benchmark_repeats = 1;
  config.benchmark_trials = 1;
  config.benchmark_warmup = 1;
  config.threads = {1};
  config.memory_bandwidth_gbps = 12.8;
  config.peak_compute_gmacs = 64;
  config.output_dir = folder;
  return config;
}

}  // namespace assay
