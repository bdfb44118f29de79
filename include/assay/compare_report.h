// Two models, two stored profiles or two sweeps side by side, with a verdict and gates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/comparison.h"
#include "assay/gate.h"

namespace assay {

struct StoredInput {
  std::string name;
  std::vector<std::int64_t> dims = {};
};

// What a comparison needs of a profile written by `profile_json`.
struct StoredProfile {
  std::string processor = "";  // of the machine, where the profile was compared with its ceilings
  std::string model;
  std::optional<std::string> sha256 = {};  // of the model's file
  std::vector<StoredInput> inputs = {};    // those whose shape is known
  std::vector<double> samples_ms;
  double median_ms = 0;
  std::int64_t batch = 1;
  int threads = 0;
  std::string engine = {};
  std::string optimize_for = {};
  std::string precision = {};  // empty: as the model has it
  bool pinned = true;
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  std::int64_t flops = 0;
  std::int64_t stored_bytes = 0;
  std::int64_t peak_activation_bytes = 0;  // as planned
  // Of layers with parameters or MACs; missing in files of older versions.
  std::optional<std::int64_t> estimated_total_bytes = {};
  std::optional<std::int64_t> estimated_total_macs = {};
  std::int64_t peak_memory_bytes = 0;
  std::optional<std::int64_t> peak_rss_growth_bytes = {};
  std::optional<double> energy_j = {};  // measured, else the proxy
  std::string verdict;
};

struct ComparedSide {
  StoredProfile profile;                       // of its last process
  std::vector<ProcessSamples> processes = {};  // in milliseconds
  std::vector<double> process_memory_mb = {};  // how far each process grew, where that is known
};

// On the same samples.
struct ComparedAccuracy {
  double a = 0;  // 0..1
  double b = 0;
  ValueRange b_ci95 = {};
  ValueRange difference_ci95 = {};
  std::int64_t samples = 0;
  std::string dataset = {};
};

struct ModelComparison {
  ComparedSide a;
  ComparedSide b;
  Comparison result;
  double threshold = 0.01;   // a smaller change is noise
  bool interleaved = true;   // pairs of processes in turns; false for stored profiles
  bool interrupted = false;  // fewer pairs than wanted
  std::vector<std::string> measured_again = {};  // "A", "B": stored, but their models were run
  std::optional<ComparedAccuracy> accuracy = {};
  std::optional<double> power_watts = {};  // for a proxy of the energy
  std::vector<std::string> warnings = {};
};

// A row of two sweeps, or all of two models.
struct ComparedRow {
  std::string name = "";  // "pruning 0.25, int8"; empty for two models
  std::vector<ComparedMetric> metrics = {};
  std::string error = "";  // of B, which fails every gate: this variant worked in A
};

struct ComparedName {
  std::string name;
  std::string setting = "";  // "batch 1, 2 threads"
};

// What all formats print.
struct CompareReport {
  ComparedName a;
  ComparedName b;
  std::vector<ComparedRow> rows = {};
  std::optional<ModelComparison> models = {};  // with every sample; missing for sweeps
  std::string how = "";                        // where the figures come from
  std::vector<GateResult> gates = {};
  bool undecided_fails = false;
  double seconds = 0;  // that the comparison took
  std::vector<std::string> warnings = {};
};

std::vector<ComparedMetric> compared_metrics(const ModelComparison& comparison);
CompareReport compare_report(ModelComparison comparison);

// For every row; a gate on a metric that no row has is an Error.
std::vector<GateResult> judge_gates(const std::vector<Gate>& gates,
                                    const std::vector<ComparedRow>& rows);
// Whether the gates say that B must not be used.
bool gates_fail(const CompareReport& report);

std::string compare_table(const CompareReport& report);
std::string compare_json(const CompareReport& report);
std::string compare_markdown(const CompareReport& report);
// A test case for each gate: FAILED is a failure, UNDECIDED is skipped unless it fails.
std::string compare_junit(const CompareReport& report);
// As Google Benchmark writes it, a benchmark for each side, "A/…" and "B/…", and a repetition for
// each process.
std::string compare_benchmark_json(const CompareReport& report);

}  // namespace assay
