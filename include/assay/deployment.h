// The same samples computed as one batch and item by item: what each costs in latency and
// throughput. They alternate, so that both run under the same conditions.
#pragma once

#include <cstdint>
#include <span>

#include "assay/run.h"
#include "assay/timing.h"

namespace assay {

struct DeploymentOptions {
  RunOptions run = {};  // shapes other than the batch; engine and threads
  double seconds = 2;   // of measuring
  std::size_t min_rounds = 3;
  std::size_t warmup_rounds = 1;
  // Scales every latency, and so the throughputs: 1 / 0.7 for a processor at 0.7 of its frequency.
  double latency_multiplier = 1.0;
};

struct Deployment {
  std::int64_t batch = 1;
  std::size_t rounds = 0;
  double batch_latency_ms = 0;       // the mean, of the whole batch
  double batch_throughput_sps = 0;   // batch / its latency
  double stream_avg_latency_ms = 0;  // the mean, of one item
  double stream_throughput_sps = 0;  // 1 / its latency
  double latency_multiplier = 1.0;   // applied to the figures above
  bool cancelled = false;
};

// Samples are drawn at random where `options.run` gives none. Throws an Error of kind Cancelled if
// `progress` cancels before the first round is done.
Deployment simulate_deployment(const Graph& model, std::int64_t batch_size,
                               const DeploymentOptions& options = {}, Progress* progress = nullptr);

// With both programs at hand; `samples` are the inputs of `batched`.
Deployment simulate_deployment(Program& batched, Program& single, std::span<const Tensor> samples,
                               const DeploymentOptions& options, Progress* progress = nullptr,
                               Clock& clock = steady_clock());

}  // namespace assay
