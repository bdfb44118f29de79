// What a sweep found: a row for each version of the model, the versions that no other beats, and
// the one to take.
//
// Latencies of unlike machines are never compared or averaged: frontiers and decisions are made
// over the rows of one machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/deployment.h"
#include "assay/hardware_summary.h"
#include "assay/layer_estimate.h"
#include "assay/metrics.h"
#include "assay/precision_tradeoff.h"
#include "assay/sweep_config.h"

namespace assay {

// Where a row was measured. Machines with equal fingerprints are alike.
struct SweepHost {
  std::string host = "";
  std::string processor = "";
  int processors = 0;
  std::string fingerprint = "";
  std::optional<double> peak_gflops = {};     // fp32, all processors, where it has been measured
  std::optional<double> bandwidth_gbps = {};  // memory, reading, likewise
};

// A latency over that of the baseline, which took turns with it in the same process.
struct LatencyRatio {
  double ratio = 1;
  double ci95_low = 1;
  double ci95_high = 1;
};

struct SweepRow {
  std::string task = "";  // its identifier in the plan
  std::uint64_t seed = 0;
  double pruning_level = 0;
  std::string precision = "fp32";
  std::int64_t batch_size = 1;
  int threads = 0;
  bool accepted = false;  // stored tensors are within the active budget
  std::string error = "";
  double active_budget_mb = 0;
  std::optional<PerfMetrics> metrics = {};                    // missing if the version failed
  std::vector<std::pair<std::string, bool>> violations = {};  // see memory_violations
  std::optional<LatencyRatio> latency_vs_baseline = {};
  std::string model_file = "";  // within the sweep's folder; fp16 and bf16 are cast from it
  SweepHost machine = {};
  std::string measured_at = "";
  double seconds = 0;  // that its task took
};

std::string describe(const SweepRow& row);  // "int8, pruned by 0.25", "fp32"

// What each row costs; nothing for one that failed. Energies are measured ones if all rows have
// them, else proxies: the two never mix.
enum class ParetoCost { Latency, Energy, Memory };
std::vector<std::optional<double>> pareto_costs(const std::vector<SweepRow>& rows, ParetoCost cost);
bool has_measured_energy(const std::vector<SweepRow>& rows);  // all that did not fail

// The accepted rows that no other accepted row beats: as accurate or more, and cheaper, or more
// accurate and no more costly. Cheapest first. With `use_ci`, accuracy is the lower end of its
// interval.
std::vector<std::size_t> pareto_frontier(const std::vector<SweepRow>& rows, ParetoCost cost,
                                         bool use_ci);

enum class Rejection { Failed, OverMemory, OverLatency, LessAccurate, Slower };

struct RejectedRow {
  std::size_t row = 0;
  Rejection kind = Rejection::Failed;
  std::string reason = "";
};

struct SweepDecision {
  std::optional<std::size_t> recommended = {};  // among the rows
  std::string reason = "";
  std::optional<std::size_t> runner_up = {};
  // The recommended version's latency over the runner-up's.
  std::optional<LatencyRatio> versus_runner_up = {};
  bool is_beyond_noise = false;  // whether that interval excludes 1
  std::string runner_up_note = "";
  std::vector<RejectedRow> rejected = {};  // every other row, and why
};

// The fastest of the accepted rows that lose at most `max_accuracy_loss` points against the most
// accurate of them, within the latency budget if there is one.
SweepDecision decide(const std::vector<SweepRow>& rows, const SweepConfig& config);

// Statistics of a version over the seeds. Of the rows that did not fail.
struct Spread {
  std::size_t count = 0;
  double mean = 0;
  double std = 0;  // of the sample (n - 1)
  double min = 0;
  double max = 0;
  double ci95_low = 0;  // of the mean, Student's t
  double ci95_high = 0;
};
Spread spread_of(const std::vector<double>& values);

struct SeedAggregate {
  double pruning_level = 0;
  std::string precision = "fp32";
  std::int64_t batch_size = 1;
  int threads = 0;
  std::string machine = "";  // its fingerprint
  std::size_t runs = 0;
  std::size_t failed = 0;
  std::size_t accepted = 0;
  std::vector<std::pair<std::string, Spread>> figures = {};  // by name of PerfMetrics
};
const std::vector<std::string>& aggregated_figures();  // all names, in order
std::vector<SeedAggregate> aggregate_seeds(const std::vector<SweepRow>& rows);

// Numbers of one quantised layer or tensor.
struct QuantizedTensor {
  std::string layer = "";
  std::string type = "";  // "int8", "uint8", or "fp32" for a layer that is not quantised
  std::vector<double> scale = {};
  std::vector<std::int64_t> zero_point = {};
};

struct QuantizationMetadata {
  double pruning_level = 0;
  std::string method = "";
  std::int64_t calibration_batches = 0;
  std::int64_t calibration_samples = 0;
  std::vector<QuantizedTensor> layers = {};
  std::vector<std::string> warnings = {};
};

// Everything about one seed on one machine.
struct SweepRun {
  SweepConfig config = {};
  std::uint64_t seed = 0;
  std::vector<SweepRow> rows = {};  // in the order of the plan
  std::optional<SweepRow> baseline = {};
  std::vector<std::size_t> latency_frontier = {};
  std::vector<std::size_t> energy_frontier = {};
  std::vector<std::size_t> memory_frontier = {};
  SweepDecision decision = {};
  std::string recommended_file = "";  // the ONNX model, within the folder; empty: none
  std::optional<Deployment> deployment = {};
  std::vector<LayerEstimate> layers = {};  // of the baseline
  std::optional<HardwareSummary> hardware = {};
  std::vector<QuantizationMetadata> quantization = {};
  // In order: version, commit, CPU, compiler, libraries, command, seeds, device asked for and got,
  // SHA-256 of model and data.
  std::vector<std::pair<std::string, std::string>> reproducibility = {};
  std::vector<std::pair<std::string, double>> phases = {};  // seconds, by kind of task
  std::size_t missing = 0;                                  // rows that were not measured yet
  std::vector<std::string> warnings = {};
};

}  // namespace assay
