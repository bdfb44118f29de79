// Two sweeps, row by row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/compare_report.h"

namespace assay {

// What a comparison needs of a row of `sweep_results.csv`. A figure that the file does not have is
// missing.
struct StoredSweepRow {
  std::string name;  // "pruning 0.25, int8", with batch and threads where the sweep has them
  std::string error = "";
  std::optional<double> accuracy = {};
  std::optional<ValueRange> accuracy_ci95 = {};
  std::optional<double> latency_ms = {};  // the mean
  std::optional<ValueRange> latency_ci95_ms = {};
  std::optional<double> latency_p95_ms = {};
  std::optional<double> throughput_sps = {};
  std::optional<double> memory_mb = {};
  std::optional<double> runtime_memory_mb = {};
  std::optional<double> energy_proxy_j = {};
  std::optional<double> energy_measured_j = {};
};

struct StoredSweep {
  std::string folder;
  std::vector<StoredSweepRow> rows = {};
};

// Rows with the same pruning level, precision, batch and threads. A row that failed in A is left
// out; a row that failed only in B fails every gate.
CompareReport compare_sweeps(const StoredSweep& a, const StoredSweep& b);

}  // namespace assay
