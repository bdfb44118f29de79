// Comparisons in which every figure is made up.
#pragma once

#include "assay/compare_sweeps.h"
#include "assay/profile_report.h"
#include "assay/stored_profile.h"
#include "fixed_profile.h"

namespace assay {

inline ModelComparison fixed_comparison() {
  ModelComparison comparison;
  comparison.a.profile = parse_profile_json(profile_json(fixed_profile()), "a.json");
  comparison.b.profile = comparison.a.profile;
  comparison.b.profile.model = "tiny-pruned.onnx";
  comparison.b.profile.parameters = 10'000;
  comparison.a.profile.estimated_total_bytes = 4'000'000;
  comparison.b.profile.estimated_total_bytes = 2'000'000;
  comparison.a.processes = {{{2.0, 2.1}, {1, 2}}, {{2.0, 2.0}, {1}}};
  comparison.b.processes = {{{1.5, 1.6}, {1, 2}}, {{1.5, 1.4}, {2}}};
  comparison.a.process_memory_mb = comparison.b.process_memory_mb = {2, 2};
  comparison.result = {.ratio = 0.755,
                       .ci95_low = 0.7,
                       .ci95_high = 0.8,
                       .verdict = ComparisonVerdict::Faster,
                       .pairs = 2,
                       .median_a = 2.0,
                       .median_b = 1.5,
                       .median_b_ci95 = {1.4, 1.6},
                       .explanation = ""};
  return comparison;
}

inline std::vector<Gate> fixed_gates() {
  return {parse_gate("latency>5%"), parse_gate("parameters>=10000"), parse_gate("latency>1.45")};
}

inline CompareReport fixed_report() {
  ModelComparison comparison = fixed_comparison();
  comparison.power_watts = 5;
  comparison.accuracy = ComparedAccuracy{.a = 0.9,
                                         .b = 0.895,
                                         .b_ci95 = {0.88, 0.91},
                                         .difference_ci95 = {-0.009, -0.001},
                                         .samples = 3000,
                                         .dataset = "mnist"};
  CompareReport report = compare_report(std::move(comparison));
  report.gates = judge_gates(fixed_gates(), report.rows);
  report.seconds = 12.5;
  report.warnings = {"a <warning> | with * markup"};
  return report;
}

inline StoredSweep fixed_sweep(const std::string& folder, double latency_ms) {
  StoredSweep sweep{.folder = folder};
  for (const char* name : {"pruning 0, fp32", "pruning 0.5, int8"}) {
    sweep.rows.push_back({.name = name,
                          .accuracy = 0.8,
                          .accuracy_ci95 = ValueRange{0.78, 0.82},
                          .latency_ms = latency_ms,
                          .latency_ci95_ms = ValueRange{0.99 * latency_ms, 1.01 * latency_ms},
                          .latency_p95_ms = 1.05 * latency_ms,
                          .throughput_sps = 128e3 / latency_ms,
                          .memory_mb = 0.25,
                          .runtime_memory_mb = 1.5,
                          .energy_proxy_j = 0.005 * latency_ms});
  }
  return sweep;
}

}  // namespace assay
