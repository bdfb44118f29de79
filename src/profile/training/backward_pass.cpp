// A training profile under the keys of docs/profile.md.
#include <algorithm>

#include "assay/training_profile.h"
#include "base/checked.h"
#include "base/megabytes.h"
#include "profile/compiled_model.h"
#include "profile/training/memory_use.h"

namespace assay {

using namespace assay::profile;

namespace {

// The most that tensors take while a step of the forward pass runs: neither workspaces nor the
// optimizer's state.
std::int64_t forward_peak(const TrainingProfile& profile) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < profile.memory.by_step.size(); ++i) {
    if (profile.step_phases[i] != Phase::Forward) continue;
    const auto& uses = profile.memory.by_step[i];
    most = std::max(most, total(uses) - uses[static_cast<std::size_t>(MemoryUse::Workspace)] -
                              uses[static_cast<std::size_t>(MemoryUse::OptimizerState)]);
  }
  return most;
}

}  // namespace

BackwardPass backward_pass_of(const TrainingProfile& profile) {
  const PhaseTotals& forward = profile.totals(Phase::Forward);
  const double updated = profile.parameters > 0 ? 1 : 0;  // a model without parameters is not
  const PhaseTotals& again = profile.totals(Phase::Recompute);
  const PhaseTotals& backward = profile.totals(Phase::Backward);
  const PlannedTraining& planned = profile.memory.planned;
  BackwardPass pass;
  pass.forward_flops = profile.model_flops;
  pass.loss_flops = profile.loss_flops;
  pass.forward_latency_ms = forward.time_ms;
  pass.forward_memory_mb = in_mb(forward_peak(profile));
  pass.backward_flops = backward.flops + again.flops;
  pass.backward_flops_rule = saturating_multiply(pass.forward_flops, 2);
  pass.backward_latency_ms = backward.time_ms + again.time_ms;
  pass.update_latency_ms = profile.totals(Phase::Update).time_ms;
  pass.gradient_memory_mb = in_mb(planned.gradient_bytes);
  pass.total_flops = pass.forward_flops + pass.loss_flops + pass.backward_flops;
  pass.total_latency_ms = pass.forward_latency_ms + pass.backward_latency_ms;
  const double whole_mb =
      in_mb(planned.parameter_bytes + planned.kept_activation_bytes + planned.gradient_bytes);
  pass.total_memory_mb = std::max(whole_mb, pass.forward_memory_mb);
  const double seconds = std::max(1e-12, pass.total_latency_ms / 1000);
  pass.total_gflops_per_second = static_cast<double>(pass.total_flops) / seconds / 1e9;
  for (const OptimizerKind kind :
       {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam, OptimizerKind::AdamW}) {
    pass.optimizer_memory_estimates[std::string(name(kind))] =
        updated * static_cast<double>(states_of(kind)) * pass.gradient_memory_mb;
  }
  const double taken =
      static_cast<double>(profile.memory.arena_bytes + profile.memory.constant_bytes);
  pass.memory_efficiency =
      taken > 0 ? std::min(1.0, static_cast<double>(planned.step_bytes) / taken) : 0;
  if (profile.step.bottleneck) pass.bottleneck = std::string(name(*profile.step.bottleneck));
  pass.flops_ratio = static_cast<double>(pass.backward_flops) /
                     static_cast<double>(std::max<std::int64_t>(1, pass.forward_flops));
  pass.latency_ratio = profile.backward_to_forward();
  return pass;
}

std::string_view name(MemoryUse use) {
  constexpr std::string_view kNames[] = {"parameters", "statistics",           "optimizer_state",
                                         "inputs",     "kept_activations",     "activations",
                                         "gradients",  "activation_gradients", "working_space"};
  return kNames[static_cast<std::size_t>(use)];
}

BackwardPass Profiler::profile_backward_pass(const Graph& model, const ModelInputs& input,
                                             Loss loss) const {
  TrainingProfileOptions options{.profile = {.run = options_for(model, input, options_)}};
  options.profile.timing.fixed_warmup = 5;
  options.profile.timing.min_samples = 20;
  options.profile.timing.max_seconds = 2;
  options.step.loss = loss;
  return backward_pass_of(profile_training(model, model.name, options, progress_));
}

BackwardPass profile_backward_pass(const Graph& model, const ModelInputs& input, Loss loss,
                                   const ProgramOptions& options, Progress* progress) {
  return Profiler(options, progress).profile_backward_pass(model, input, loss);
}

}  // namespace assay
