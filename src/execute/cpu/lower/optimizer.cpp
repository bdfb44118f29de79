// Sgd, Momentum and Adam: parameters and states are written over where they lie, in whatever layout
// the forward pass gave the parameter.
#include <cmath>

#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Everything that does not change from step to step.
struct Settings {
  std::size_t states = 0;
  double decay = 0;
  bool is_decoupled = false;
  double kept = 0;
  double kept_square = 0;
  double epsilon = 0;
};

Settings settings_of(const Node& node) {
  const auto number = [&](const char* attribute, float otherwise) {
    return static_cast<double>(node.float_or(attribute, otherwise));
  };
  Settings settings{.states = node.outputs.size() - 1, .decay = number("weight_decay", 0)};
  if (settings.states == 1) settings.kept = number("momentum", 0.9f);
  if (settings.states == 2) {
    settings.is_decoupled = node.int_or("decoupled", 0) != 0;
    settings.kept = number("beta1", 0.9f);
    settings.kept_square = number("beta2", 0.999f);
    settings.epsilon = number("epsilon", 1e-8f);
  }
  return settings;
}

OptimizerStep step_at(const Settings& settings, double rate, double number) {
  OptimizerStep step{
      .states = settings.states,
      .rate = static_cast<float>(rate),
      .decay = static_cast<float>(settings.is_decoupled ? 0 : settings.decay),
      .shrink = static_cast<float>(settings.is_decoupled ? 1 - rate * settings.decay : 1.0),
      .kept = static_cast<float>(settings.kept),
      .kept_square = static_cast<float>(settings.kept_square),
      .epsilon = static_cast<float>(settings.epsilon)};
  if (settings.states < 2) return step;
  step.rate = static_cast<float>(rate / (1 - std::pow(settings.kept, number)));
  step.inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(settings.kept_square, number)));
  return step;
}

// Elements and padding alike: gradients of padding are zero, and so it stays zero.
std::int64_t floats_in(const Placement& placement) {
  if (!placement.blocked) return placement.elements();
  return static_cast<std::int64_t>(bytes_of(*placement.blocked) / sizeof(float));
}

constexpr std::int64_t kFloatsWorthSharing = 16384;

Binder update_binder(const Settings& settings, const Placement& rate, const Placement& number,
                     const std::vector<Placement>& written, const Placement& gradient,
                     int threads) {
  const std::int64_t count = floats_in(written[0]);
  return [=](const Addresses& at) -> Runner {
    const float* from_rate = at.floats(rate);
    const auto* from_number = reinterpret_cast<const std::int64_t*>(at.bytes(number));
    float* parameters = at.floats(written[0]);
    const float* gradients = at.floats(gradient);
    float* first = settings.states > 0 ? at.floats(written[1]) : nullptr;
    float* second = settings.states > 1 ? at.floats(written[2]) : nullptr;
    return [=] {
      const OptimizerStep step =
          step_at(settings, static_cast<double>(*from_rate), static_cast<double>(*from_number));
      execute::in_parallel(threads, count, [&](std::int64_t begin, std::int64_t end) {
        simd().optimizer_step(
            step, parameters + begin, gradients + begin, first == nullptr ? nullptr : first + begin,
            second == nullptr ? nullptr : second + begin, static_cast<std::size_t>(end - begin));
      });
    };
  };
}

bool lower_update(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const bool is_complete =
      node.inputs.size() == node.outputs.size() + 3 && node.outputs.size() <= 3;
  if (!is_complete) return false;
  for (std::size_t i = 2; i < node.inputs.size(); ++i) {
    if (!lowering.is_float(node.inputs[i]) || lowering.constant(node.inputs[i])) return false;
    if (i != 3 && !lowering.may_replace(node.inputs[i], id)) return false;
  }
  const Placement rate = lowering.row_major(node.inputs[0]);
  const Placement number = lowering.row_major(node.inputs[1]);
  const Placement parameter = lowering.native(node.inputs[2]);
  const auto like_parameter = [&](ValueId value) {
    return parameter.blocked ? lowering.in_layout(value, *parameter.blocked)
                             : lowering.row_major(value);
  };
  const Placement gradient = like_parameter(node.inputs[3]);
  std::vector<Placement> written = {parameter};
  for (std::size_t i = 4; i < node.inputs.size(); ++i) {
    written.push_back(like_parameter(node.inputs[i]));
  }
  StepDraft draft{.nodes = {id}, .algorithm = "in place", .reads = written, .writes = written};
  draft.reads.push_back(gradient);
  draft.reads.push_back(rate);
  draft.reads.push_back(number);
  constexpr std::int64_t kFlops[] = {2, 4, 12};
  const Settings settings = settings_of(node);
  draft.executed_flops = parameter.elements() * kFlops[settings.states];
  const int threads = floats_in(parameter) >= kFloatsWorthSharing ? lowering.threads() : 1;
  lowering.add_step(draft, update_binder(settings, rate, number, written, gradient, threads));
  for (std::size_t i = 0; i < written.size(); ++i) {
    lowering.set_placement(node.outputs[i], written[i]);
  }
  return true;
}

}  // namespace

void add_optimizer_lowering(LowerTable& table) {
  for (const char* op : {"assay.Sgd", "assay.Momentum", "assay.Adam"}) table[op] = lower_update;
}

}  // namespace assay::cpu
