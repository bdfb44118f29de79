#include "assay/deployment.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"

namespace assay {

using namespace assay::profile;

namespace {

std::unique_ptr<Program> compiled_with_batch(const Graph& model, std::int64_t batch,
                                             const RunOptions& options, Progress* progress) {
  RunOptions run = options;
  run.inputs.clear();
  run.bindings.batch = batch;
  Prepared prepared = prepare_to_run(model, model.name, run);
  return compile(std::move(prepared.inferred), run.program, progress);
}

std::int64_t rows_of(const Tensor& tensor, const Value& input) {
  if (tensor.dims().empty() || tensor.dims()[0] < 1) {
    fail_bad_input("input '{}' has no first axis that could hold samples", input.name);
  }
  return tensor.dims()[0];
}

// The samples one by one, each as the inputs of a program that takes one.
std::vector<std::vector<Tensor>> items_of(std::span<const Tensor> samples, const Program& single) {
  std::vector<std::vector<Tensor>> items;
  const auto count = rows_of(samples[0], single.inputs()[0]);
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<Tensor> item;
    for (std::size_t k = 0; k < samples.size(); ++k) {
      if (rows_of(samples[k], single.inputs()[k]) != count) {
        fail_bad_input("input '{}' holds {} samples, input '{}' {}", single.inputs()[k].name,
                       samples[k].dims()[0], single.inputs()[0].name, count);
      }
      item.push_back(samples[k].rows(i, 1));
    }
    items.push_back(std::move(item));
  }
  return items;
}

// What one round took: the batch, and all its items one after the other. Feeding is not timed.
struct Round {
  double batch_ms = 0;
  double items_ms = 0;
};

Round timed_round(Program& batched, Program& single, const std::vector<std::vector<Tensor>>& items,
                  Clock& clock) {
  Round round{.batch_ms = timed_ms(clock, [&] { batched.run(); })};
  for (const auto& item : items) {
    single.set_inputs(item);
    round.items_ms += timed_ms(clock, [&] { single.run(); });
  }
  return round;
}

void check_multiplier(double multiplier) {
  if (std::isfinite(multiplier) && multiplier > 0) return;
  fail_usage("latency_multiplier is {}, expected a number above 0", multiplier);
}

Deployment deployment_of(const Round& measured, std::size_t rounds, std::size_t batch,
                         double multiplier) {
  const Round total{measured.batch_ms * multiplier, measured.items_ms * multiplier};
  const auto samples = static_cast<double>(rounds * batch);
  Deployment deployment{.batch = static_cast<std::int64_t>(batch),
                        .rounds = rounds,
                        .latency_multiplier = multiplier};
  deployment.batch_latency_ms = total.batch_ms / static_cast<double>(rounds);
  deployment.stream_avg_latency_ms = total.items_ms / samples;
  if (total.batch_ms > 0) deployment.batch_throughput_sps = 1000 * samples / total.batch_ms;
  if (total.items_ms > 0) deployment.stream_throughput_sps = 1000 * samples / total.items_ms;
  return deployment;
}

}  // namespace

Deployment simulate_deployment(Program& batched, Program& single, std::span<const Tensor> samples,
                               const DeploymentOptions& options, Progress* progress, Clock& clock) {
  check_multiplier(options.latency_multiplier);
  if (samples.empty()) fail_bad_input("the model has no input: there are no samples to deploy");
  const auto items = items_of(samples, single);
  Progress no_progress;
  Progress& listener = progress ? *progress : no_progress;
  batched.set_inputs(samples);
  for (std::size_t i = 0; i < options.warmup_rounds; ++i) {
    timed_round(batched, single, items, clock);
  }
  const double limit_ms = options.seconds * 1000;
  Round total;
  std::size_t rounds = 0;
  const auto spent_ms = [&] { return total.batch_ms + total.items_ms; };
  while ((rounds < options.min_rounds || spent_ms() < limit_ms) && !listener.cancelled()) {
    const Round round = timed_round(batched, single, items, clock);
    total.batch_ms += round.batch_ms;
    total.items_ms += round.items_ms;
    ++rounds;
    listener.report(std::min(1.0, spent_ms() / limit_ms), "batch against item by item");
  }
  if (rounds == 0) throw Error(ErrorKind::Cancelled, "interrupted before a round was measured");
  Deployment deployment = deployment_of(total, rounds, items.size(), options.latency_multiplier);
  deployment.cancelled = listener.cancelled();
  return deployment;
}

Deployment simulate_deployment(const Graph& model, std::int64_t batch_size,
                               const DeploymentOptions& options, Progress* progress) {
  if (batch_size < 1) fail_usage("batch_size is {}, expected at least 1", batch_size);
  const auto batched = compiled_with_batch(model, batch_size, options.run, progress);
  const auto single = compiled_with_batch(model, 1, options.run, progress);
  return simulate_deployment(*batched, *single, inputs_for(*batched, options.run), options,
                             progress);
}

}  // namespace assay
