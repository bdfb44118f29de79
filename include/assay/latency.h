// How long one forward pass takes: the mean of fixed numbers of runs, and how it varies when that
// is repeated. `Profiler::measure_latency` is the median of one series; `profile_model` runs until
// the confidence interval is narrow.
#pragma once

#include <cstddef>
#include <vector>

#include "assay/graph.h"
#include "assay/model_inputs.h"
#include "assay/program.h"
#include "assay/progress.h"

namespace assay {

// The mean of `num_runs` runs, ms. Throws an Error of kind Cancelled if `progress` cancels.
double measure_latency(const Graph& model, const ModelInputs& input, std::size_t num_runs = 100,
                       std::size_t warmup = 3, const ProgramOptions& options = {},
                       Progress* progress = nullptr);

// Over the means of the repeats, ms.
struct LatencyDistribution {
  double mean_ms = 0;
  double std_ms = 0;  // of the sample (n - 1); 0 for a single repeat
  double p95_ms = 0;  // interpolated between repeats
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  double ci95_low_ms = 0;  // of the mean, Student's t
  double ci95_high_ms = 0;
  std::vector<double> repeat_means_ms = {};
  std::vector<double> samples_ms = {};  // every run of every repeat, in the order taken
};

// Throws an Error of kind Cancelled if `progress` cancels.
LatencyDistribution measure_latency_distribution(const Graph& model, const ModelInputs& input,
                                                 std::size_t repeats = 5,
                                                 std::size_t num_runs = 100, std::size_t warmup = 3,
                                                 const ProgramOptions& options = {},
                                                 Progress* progress = nullptr);

}  // namespace assay
