// Counts and measurements of one model, under the usual names of profilers.
//
// A model is compiled for the inputs given and really run. Times are in milliseconds, sizes in
// units of 1024² bytes, and figures are for the whole batch unless they say otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/graph.h"
#include "assay/model_inputs.h"
#include "assay/program.h"
#include "assay/training_step.h"

namespace assay {

// What the model needs, if every tensor is stored once, and what was really allocated.
struct MemoryFigures {
  double parameter_memory_mb = 0;                 // stored tensors
  double activation_memory_mb = 0;                // the planned arena
  double peak_memory_mb = 0;                      // weights and arena as the engine holds them
  double memory_efficiency = 0;                   // needed / peak, 0..1
  std::optional<double> peak_rss_growth_mb = {};  // of the process; missing if not reported
};

// The memory figures, and these.
struct ForwardPass : MemoryFigures {
  std::int64_t parameters = 0;
  std::int64_t flops = 0;           // of the batch
  double latency_ms = 0;            // the median
  double gflops_per_second = 0;     // flops / latency
  double memory_bandwidth_mbs = 0;  // peak_memory_mb / latency in seconds
  double counted_traffic_mbs = 0;   // bytes that the steps read and write, over the same time
  std::int64_t executed_flops = 0;  // what the chosen algorithms really do
  // Compared with ceilings estimated by short probes; missing where a probe failed.
  std::optional<double> computational_efficiency = {};  // executed work / peak, 0..1
  std::optional<bool> is_memory_bound = {};
  std::optional<bool> is_compute_bound = {};
  std::optional<std::string> bottleneck = {};  // "memory" or "compute"
};

// One step of training without its update: forward pass, loss, backward pass. A model without
// parameters has the gradients of its inputs.
struct BackwardPass {
  std::int64_t forward_flops = 0;  // of the model alone: ForwardPass::flops
  std::int64_t loss_flops = 0;
  double forward_latency_ms = 0;  // the loss included
  double forward_memory_mb = 0;   // the most that tensors take in the forward pass
  std::int64_t backward_flops = 0;
  std::int64_t backward_flops_rule = 0;  // 2 · forward_flops, the rule of thumb
  double backward_latency_ms = 0;
  double gradient_memory_mb = 0;  // of the parameters, or of the inputs of a model without any
  std::int64_t total_flops = 0;   // forward + loss + backward
  double total_latency_ms = 0;
  // Parameters + kept activations + gradients; no less than in the forward pass.
  double total_memory_mb = 0;
  double total_gflops_per_second = 0;
  // MB: sgd, momentum, adam, adamw; 0 for a model without parameters.
  std::map<std::string, double> optimizer_memory_estimates = {};
  double memory_efficiency = 0;  // what the step needs / what was allocated, 0..1
  std::optional<std::string> bottleneck = {};
  double update_latency_ms = 0;
  double flops_ratio = 0;    // backward / forward, as counted
  double latency_ratio = 0;  // as measured; the rule of thumb says 2
};

class Profiler {
 public:
  Profiler() = default;
  // What measures stops early when `progress` cancels, which must outlive the profiler.
  explicit Profiler(ProgramOptions options, Progress* progress = nullptr)
      : options_(std::move(options)), progress_(progress) {}

  // What training would change: Linear(128, 64) has 8,256. Each stored tensor counts once.
  std::int64_t count_parameters(const Graph& model) const;

  // For one sample: 2·MACs without the bias, plus 1 per output element of every other op that
  // computes (`CostTotals::flops` weighs norms, softmax and pooling by what they do). If the model
  // has MACs, the first axis of `input_shape` is the batch; otherwise the whole input is one
  // sample.
  std::int64_t count_flops(const Graph& model, const std::vector<std::int64_t>& input_shape) const;

  // Compiles the model for this shape of its first input, and runs it once.
  MemoryFigures measure_memory(const Graph& model,
                               const std::vector<std::int64_t>& input_shape) const;

  // The median of `iterations` runs, ms.
  double measure_latency(const Graph& model, const ModelInputs& input, std::size_t warmup = 10,
                         std::size_t iterations = 100) const;

  // Everything at once, over at least 5 runs to warm up and 20 that count.
  ForwardPass profile_forward_pass(const Graph& model, const ModelInputs& input) const;

  // The same for a step of training, really run and really counted.
  BackwardPass profile_backward_pass(const Graph& model, const ModelInputs& input,
                                     Loss loss = Loss::SumOfSquares) const;

 private:
  ProgramOptions options_ = {};
  Progress* progress_ = nullptr;
};

ForwardPass profile_forward_pass(const Graph& model, const ModelInputs& input,
                                 const ProgramOptions& options = {}, Progress* progress = nullptr);
BackwardPass profile_backward_pass(const Graph& model, const ModelInputs& input,
                                   Loss loss = Loss::SumOfSquares,
                                   const ProgramOptions& options = {},
                                   Progress* progress = nullptr);

}  // namespace assay
