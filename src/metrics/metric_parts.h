// The figures of PerfMetrics, each filled in from what was measured.
#pragma once

#include "assay/accuracy.h"
#include "assay/energy.h"
#include "assay/infer.h"
#include "assay/latency.h"
#include "assay/metrics.h"

namespace assay::metrics {

void check_positive(const char* what, double value);

void add_accuracy(const Accuracy& accuracy, PerfMetrics& metrics);
// Every latency is multiplied, and the throughput follows.
void add_latency(const LatencyDistribution& latency, double multiplier, std::int64_t batch_size,
                 PerfMetrics& metrics);
// After the latency.
void add_energy(const EnergyEstimate& measured, double power_watts, double multiplier,
                PerfMetrics& metrics);

// Of the model as it is, with its shapes known in `bound`, if it runs in the precision given.
void add_memory(const Graph& model, const Inferred& bound, std::optional<DataType> precision,
                PerfMetrics& metrics);

// Statistics of the repeats' means.
LatencyDistribution distribution_of(std::vector<double> repeat_means_ms,
                                    std::vector<double> samples_ms);

}  // namespace assay::metrics
