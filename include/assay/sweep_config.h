// What a sweep does: which model on which data, the versions of it to make, how they are measured,
// and the budgets they are judged by. The keys of its YAML file are the names of the members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

struct SweepConfig {
  std::string model = "SmallCNN";  // that, a zoo name, or an ONNX file
  std::string dataset = "fashion-mnist";
  std::string dataset_folder = "";                    // as in DatasetOptions
  std::uint64_t seed = 7;                             // of weights, subsets and dropouts
  std::optional<std::uint64_t> dataloader_seed = {};  // of the order of samples; default: the seed
  std::int64_t batch_size = 128;
  std::int64_t epochs = 2;  // 0: the model as it is
  double learning_rate = 0.001;
  std::int64_t train_subset = 12000;  // 0: all samples
  std::int64_t val_subset = 3000;
  std::int64_t num_workers = 0;  // accepted, not used

  std::vector<double> pruning_levels = {0.0, 0.25, 0.5, 0.7};
  std::vector<std::string> precisions = {"fp32", "fp16", "int8"};
  std::int64_t fine_tune_epochs = 0;      // of pruned versions
  std::int64_t calibration_batches = 8;   // of `batch_size` samples, for int8
  std::string quantization_backend = "";  // accepted and recorded, not used

  std::string device = "cpu";
  std::vector<std::int64_t> batch_sizes = {};  // to measure at; default: `batch_size`
  std::vector<std::int64_t> threads = {};      // to measure with; default: all processors
  std::int64_t benchmark_repeats = 5;
  std::int64_t benchmark_trials = 3;
  std::int64_t benchmark_warmup = 3;
  double power_watts = 5;
  double cpu_frequency_scale = 1;                    // latencies are divided by it
  std::optional<double> memory_bandwidth_gbps = {};  // default: measured
  std::optional<double> peak_compute_gmacs = {};     // likewise

  std::vector<double> memory_budgets_mb = {1.0, 2.0, 4.0};
  double active_memory_budget_mb = 2.0;
  std::optional<double> latency_budget_ms = {};
  double max_accuracy_loss = 1;  // points that the recommended version may lose against the best
  bool pareto_use_ci = false;    // frontiers by the lower end of the accuracy's interval

  std::vector<std::uint64_t> seeds = {};  // one whole run each; default: `seed`
  double task_timeout_s = 600;
  std::optional<double> task_memory_mb = {};  // most that a task may allocate
  std::string output_dir = "outputs";

  double latency_multiplier() const { return 1 / cpu_frequency_scale; }
  std::vector<std::int64_t> measured_batches() const {
    return batch_sizes.empty() ? std::vector{batch_size} : batch_sizes;
  }
  std::vector<std::uint64_t> all_seeds() const { return seeds.empty() ? std::vector{seed} : seeds; }
};

}  // namespace assay
