// Sweeps with made-up figures, of any size.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "assay/memory_budget.h"
#include "assay/sweep_result.h"

namespace assay {

inline SweepHost some_host() {
  return {.host = "shelf1",
          .processor = "Some Processor",
          .processors = 4,
          .fingerprint = "5ome",
          .peak_gflops = 178,
          .bandwidth_gbps = 12.5};
}

inline SweepRow sweep_row(double level, const std::string& precision, double accuracy,
                          double latency_ms, double memory_mb, const SweepConfig& config) {
  SweepRow row{
      .task = "measure-p" + std::to_string(static_cast<int>(100 * level)) + "-" + precision,
      .seed = config.seed,
      .pruning_level = level,
      .precision = precision,
      .batch_size = config.batch_size,
      .threads = 2,
      .accepted = memory_mb <= config.active_memory_budget_mb,
      .active_budget_mb = config.active_memory_budget_mb,
      .machine = some_host(),
      .measured_at = "2026-01-01T00:00:00Z",
      .seconds = 0.5};
  row.metrics = PerfMetrics{.accuracy = accuracy,
                            .accuracy_ci95_low = accuracy - 0.0125,
                            .accuracy_ci95_high = accuracy + 0.0125,
                            .latency_ms = latency_ms,
                            .latency_median_ms = 0.984375 * latency_ms,
                            .latency_std_ms = 0.0078125 * latency_ms,
                            .latency_p95_ms = 1.03125 * latency_ms,
                            .latency_ci95_low_ms = 0.9921875 * latency_ms,
                            .latency_ci95_high_ms = 1.0078125 * latency_ms,
                            .throughput_sps = 1000 * 128 / latency_ms,
                            .memory_mb = memory_mb,
                            .runtime_memory_mb = memory_mb + 3,
                            .energy_proxy_j = latency_ms / 200,
                            .energy_note = "no meter; 5 W × latency"};
  row.violations = memory_violations(memory_mb, config.memory_budgets_mb);
  row.latency_vs_baseline =
      LatencyRatio{latency_ms / 4, latency_ms / 4 - 0.0078125, latency_ms / 4 + 0.0078125};
  return row;
}

inline SweepRow failed_row(double level, const std::string& precision, const std::string& error,
                           const SweepConfig& config) {
  SweepRow row = sweep_row(level, precision, 0, 1, 0, config);
  row.metrics.reset();
  row.violations.clear();
  row.latency_vs_baseline.reset();
  row.accepted = false;
  row.error = error;
  return row;
}

// Frontiers and decision by the rows.
inline void judge(SweepRun& run) {
  const bool use_ci = run.config.pareto_use_ci;
  run.latency_frontier = pareto_frontier(run.rows, ParetoCost::Latency, use_ci);
  run.energy_frontier = pareto_frontier(run.rows, ParetoCost::Energy, use_ci);
  run.memory_frontier = pareto_frontier(run.rows, ParetoCost::Memory, use_ci);
  run.decision = decide(run.rows, run.config);
}

inline SweepConfig some_sweep_config() {
  SweepConfig config;
  config.cpu_frequency_scale = 0.5;
  config.max_accuracy_loss = 2;
  return config;
}

// Three rows are accepted, two are too large, one failed.
inline SweepRun fixed_sweep() {
  SweepRun run;
  run.config = some_sweep_config();
  run.seed = run.config.seed;
  const SweepConfig& config = run.config;
  run.baseline = sweep_row(0, "fp32", 0.875, 4, 3.5, config);
  run.rows = {sweep_row(0, "fp32", 0.875, 4, 3.5, config),
              sweep_row(0, "fp16", 0.8725, 3, 1.75, config),
              sweep_row(0, "int8", 0.87, 1.5, 0.875, config),
              sweep_row(0.25, "fp32", 0.8625, 2.5, 2.5, config),
              failed_row(0.25, "fp16", "killed by signal 9, \"out of memory\"", config),
              sweep_row(0.25, "int8", 0.84, 1.25, 0.5, config)};
  judge(run);
  run.recommended_file = "recommended.onnx";
  run.deployment = Deployment{.batch = 128,
                              .rounds = 3,
                              .batch_latency_ms = 8,
                              .batch_throughput_sps = 16000,
                              .stream_avg_latency_ms = 0.25,
                              .stream_throughput_sps = 4000,
                              .latency_multiplier = 2};
  run.layers = {{"conv1", 12544, 640, 50176, 112896}, {"classifier", 10, 1320, 40, 320}};
  run.hardware = summarize_hardware(run.layers, 4, 12.8, 64);
  run.quantization = {{.pruning_level = 0,
                       .method = "static, entropy",
                       .calibration_batches = 8,
                       .calibration_samples = 1024,
                       .layers = {{"conv1", "int8", {0.5, 0.25}, {0, 0}}, {"head", "fp32", {}, {}}},
                       .warnings = {}},
                      {.pruning_level = 0.25, .method = "static, entropy"}};
  run.reproducibility = {{"version", "1.0"}, {"command", "assay sweep sweep.yaml"}};
  run.phases = {{"train", 1.5}, {"measure", 3.25}};
  run.warnings = {"a warning"};
  return run;
}

// `count` versions with figures that scatter; every seventh is too large.
inline SweepRun sweep_of(int count) {
  SweepRun run;
  run.config = some_sweep_config();
  const std::vector<std::string> precisions = {"fp32", "bf16", "fp16", "int8"};
  for (int i = 0; i < count; ++i) {
    const double level = 0.9 * (i / 4) / std::max(1, (count + 3) / 4);
    const double speed = 1 + (i % 4) * 0.6 + 0.13 * std::sin(i * 1.7);
    run.rows.push_back(
        sweep_row(std::round(100 * level) / 100, precisions[i % 4],
                  0.9 - 0.25 * level * level - 0.01 * (i % 4) + 0.004 * std::cos(i * 2.3),
                  4 * (1 - 0.8 * level) / speed,
                  3.8 * (1 - level) /
                      (i % 4 == 0   ? 1
                       : i % 4 == 3 ? 4
                                    : 2),
                  run.config));
  }
  judge(run);
  return run;
}

}  // namespace assay
