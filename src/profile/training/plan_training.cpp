// The memory of a training step, planned from its tensors, for any batch.
#include <algorithm>
#include <limits>

#include "assay/cost.h"
#include "assay/memory.h"
#include "base/fail.h"
#include "profile/prepared.h"
#include "profile/training/memory_use.h"
#include "profile/training/planned.h"

namespace assay {

using namespace assay::profile;

namespace {

std::int64_t bytes_of(const Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.byte_size());
}

std::vector<LiveBuffer> live_buffers(const MemoryPlan& plan) {
  std::vector<LiveBuffer> live;
  for (const Buffer& buffer : plan.buffers) {
    live.push_back({buffer.value, buffer.bytes, buffer.first_step, buffer.last_step});
  }
  return live;
}

// Of all parameters, or of the inputs of a model that has none.
std::int64_t gradient_bytes(const TrainingStep& step, std::int64_t parameter_bytes) {
  if (parameter_bytes > 0) return parameter_bytes;
  std::int64_t bytes = 0;
  for (const ValueId gradient : step.gradients) {
    const ValueType& type = step.graph.value(gradient).type;
    bytes += byte_size(type.element, type.shape->elements().value()).value();
  }
  return bytes;
}

}  // namespace

TrainingStep profile::step_to_profile(const Inferred& model, TrainingStepOptions options) {
  options.input_gradients = true;
  return training_step(model, trainable_parameters(model), options);
}

PlannedTraining profile::planned(const TrainingStep& step, const MemoryPlan& plan,
                                 std::int64_t batch, OptimizerKind optimizer) {
  PlannedTraining result{.batch = batch, .optimizer = optimizer, .step_bytes = plan.arena_bytes};
  for (const StateSlot& slot : step.state) {
    if (slot.kind == StateSlot::Kind::Parameter) result.parameter_bytes += bytes_of(slot.initial);
    if (slot.kind == StateSlot::Kind::Optimizer) result.optimizer_bytes += bytes_of(slot.initial);
  }
  result.gradient_bytes = gradient_bytes(step, result.parameter_bytes);
  const MemoryUses uses(step, step.phases);
  for (const LiveBuffer& buffer : live_buffers(plan)) {
    if (uses.use_of(buffer) == MemoryUse::KeptActivations)
      result.kept_activation_bytes += buffer.bytes;
  }
  return result;
}

PlannedTraining plan_training(const Graph& model, const TrainingStepOptions& options,
                              const Bindings& bindings) {
  const Prepared prepared = prepare_model(model, model.name, {.bindings = bindings});
  const Inferred& inferred = prepared.inferred;
  const TrainingStep step = step_to_profile(inferred, options);
  const MemoryPlan plan = plan_memory(infer_shapes(step.graph));
  return planned(step, plan, prepared.batch * options.accumulate, options.optimizer.kind);
}

std::size_t pieces_to_fit(const Graph& model, std::int64_t budget_bytes,
                          const TrainingStepOptions& options, const Bindings& bindings) {
  constexpr std::size_t kMost = 256;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t pieces = 1; pieces <= kMost; pieces += std::max<std::size_t>(1, pieces / 2)) {
    TrainingStepOptions tried = options;
    tried.pieces = pieces;
    const PlannedTraining plan = plan_training(model, tried, bindings);
    if (plan.step_bytes <= budget_bytes) return pieces;
    least = std::min(least, plan.step_bytes);
  }
  fail_bad_input(
      "a step needs {} bytes even with activations recomputed, {} are allowed: "
      "try a smaller batch, or a larger `accumulate`",
      least, budget_bytes);
}

// Memory grows with the batch: double it until it no longer fits, then bisect.
std::optional<PlannedTraining> largest_batch(const Graph& model, std::int64_t budget_bytes,
                                             const TrainingStepOptions& options,
                                             const Bindings& bindings) {
  if (budget_bytes <= 0) fail_usage("a budget of {} bytes: expected more than 0", budget_bytes);
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  std::optional<PlannedTraining> best;
  const auto fits = [&](std::int64_t batch) {
    Bindings bound = bindings;
    bound.batch = batch;
    PlannedTraining plan = plan_training(model, options, bound);
    if (plan.step_bytes > budget_bytes) return false;
    best = plan;
    return true;
  };
  std::int64_t low = 0;
  std::int64_t high = 1;
  while (high <= kMost && fits(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return best;
}

}  // namespace assay
