// The metrics of one configuration as people and programs read them. The keys are the names of
// PerfMetrics.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "assay/count.h"
#include "assay/metrics.h"

namespace assay {

struct EvaluatedOn {
  std::string name = {};
  std::string source = {};
  std::string sha256 = {};  // of samples and labels
  std::int64_t size = 0;
};
EvaluatedOn evaluated_on(const Dataset& dataset);

struct MetricsReport {
  ModelSummary model = {};
  EvaluatedOn dataset = {};
  std::string device = "cpu";
  std::string precision = "fp32";
  std::int64_t batch = 1;  // that times, throughput and energies are for
  int threads = 0;
  double power_watts = 0;
  double latency_multiplier = 1;
  std::size_t repeats = 1;
  PerfMetrics metrics = {};
  std::vector<std::pair<std::string, bool>> violations = {};  // see memory_violations
  std::vector<std::string> warnings = {};
};

std::string metrics_table(const MetricsReport& report);
std::string metrics_json(const MetricsReport& report);
// A header and one row: every figure, then every violation.
std::string metrics_csv(const MetricsReport& report);

}  // namespace assay
