#include "profile/training/memory_use.h"

#include <numeric>

namespace assay {

using namespace assay::profile;

namespace {

MemoryUse use_of_state(StateSlot::Kind kind) {
  switch (kind) {
    case StateSlot::Kind::Parameter:
      return MemoryUse::Parameters;
    case StateSlot::Kind::Statistic:
      return MemoryUse::Statistics;
    case StateSlot::Kind::Optimizer:
      break;
  }
  return MemoryUse::OptimizerState;
}

bool is_forward(Phase phase) {
  return phase == Phase::Forward || phase == Phase::Recompute;
}

}  // namespace

MemoryUses::MemoryUses(const TrainingStep& step, std::vector<Phase> phases)
    : phases_(std::move(phases)), by_value_(step.graph.value_count(), MemoryUse::Activations) {
  for (std::size_t i = 0; i < step.graph.node_count(); ++i) {
    if (is_forward(step.phases[i])) continue;
    for (const ValueId output : step.graph.nodes()[i].outputs) {
      if (output.is_valid()) by_value_[output.number] = MemoryUse::ActivationGradients;
    }
  }
  for (const ValueId input : step.graph.inputs()) by_value_[input.number] = MemoryUse::Inputs;
  for (const ValueId gradient : step.gradients) by_value_[gradient.number] = MemoryUse::Gradients;
  for (std::size_t i = 0; i < step.state.size(); ++i) {
    const auto& [input, output] = step.graph.carried()[i];
    by_value_[input.number] = by_value_[output.number] = use_of_state(step.state[i].kind);
  }
}

MemoryUse MemoryUses::use_of(const LiveBuffer& buffer) const {
  if (!buffer.value.is_valid()) return MemoryUse::Workspace;
  const MemoryUse use = by_value_[buffer.value.number];
  const bool is_read_late =
      use == MemoryUse::Activations && !phases_.empty() && !is_forward(phases_[buffer.last_step]);
  return is_read_late ? MemoryUse::KeptActivations : use;
}

std::vector<BytesByUse> MemoryUses::by_step(std::span<const LiveBuffer> live) const {
  std::vector<BytesByUse> steps(phases_.size(), BytesByUse{});
  for (const LiveBuffer& one : live) {
    const auto use = static_cast<std::size_t>(use_of(one));
    for (std::size_t i = one.first_step; i <= one.last_step && i < steps.size(); ++i) {
      steps[i][use] += one.bytes;
    }
  }
  return steps;
}

std::int64_t total(const BytesByUse& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

}  // namespace assay
