// Layers bound by activation traffic: those that could be fused into a neighbour, and the others.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

bool waits_for_activations(const StepFacts& step) {
  return step.is_bound_by(Bound::Memory) && weight_share(step.work) < 0.5 && !step.is_reorder() &&
         !step.fell_back();
}

// Element-wise steps and copies, whatever the op is called.
bool runs_alone(const StepFacts& step) {
  const std::string& algorithm = step.step->info.algorithm;
  return algorithm == "element-wise" || algorithm == "copy";
}

StepWork with_half_the_bytes(StepWork work) {
  for (double StepWork::*bytes : {&StepWork::weight_bytes, &StepWork::read_bytes,
                                  &StepWork::written_bytes, &StepWork::run_bytes}) {
    work.*bytes /= 2;
  }
  return work;
}

// At least half of the time: half of the bytes may fit a nearer cache, but that was not measured.
double half_precision_ms(const RunFacts& facts, const StepGroup& group) {
  return std::max(total_ms(group) / 2, facts.time_with(group, with_half_the_bytes));
}

// The producer passes its result on in registers, and this step's result is written instead of it.
// Only the other operands are still read.
StepWork fused_into_producer(StepWork work) {
  work.read_bytes = std::max(0.0, work.read_bytes - work.written_bytes);
  work.written_bytes = 0;
  work.flops = 0;
  return work;
}

std::string activation_traffic_text(const RunFacts& facts, const StepGroup& group) {
  const StepWork work = total_work(group);
  const double time_ms = total_ms(group);
  return fmt::format("{} for {} of activations: {} GB/s, {:.0f} % of the ceiling of {}",
                     facts.time_text(time_ms), with_binary_unit(work.bytes() - work.weight_bytes),
                     rate_text(work.bytes() / (time_ms * 1e6)), percent_of_ceiling(group),
                     main_level(group));
}

// Without step overhead: a fused step is not started on its own.
double fused_ms(const RunFacts& facts, const StepGroup& group) {
  double left_ms = 0;
  for (const StepFacts& step : group) {
    const double least_ms = least_time(step.work, facts.roofline()).limit_ms();
    if (least_ms <= 0) continue;
    const double rest_ms = least_time(fused_into_producer(step.work), facts.roofline()).limit_ms();
    left_ms += step.time_ms() * rest_ms / least_ms;
  }
  return left_ms;
}

}  // namespace

std::optional<Advice> unfused_elementwise(const RunFacts& facts) {
  const StepGroup group = facts.where(
      [](const StepFacts& step) { return waits_for_activations(step) && runs_alone(step); });
  if (group.empty()) return {};
  const double left_ms = fused_ms(facts, group);
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format(
      "{}, in {} with hardly any arithmetic", activation_traffic_text(facts, group),
      group.size() == 1 ? std::string("a step") : fmt::format("{} steps", group.size()));
  advice.action = fmt::format(
      "fold them into the layer before (constants into its weights, or a form the engine fuses): "
      "{} "
      "would be left, for other operands; in fp16 or bf16, half of the bytes, {}",
      duration_text(left_ms), duration_text(half_precision_ms(facts, group)));
  advice.saving_ms = total_ms(group) - left_ms;
  return advice;
}

std::optional<Advice> memory_bound_activations(const RunFacts& facts) {
  const StepGroup group = facts.where(
      [](const StepFacts& step) { return waits_for_activations(step) && !runs_alone(step); });
  if (group.empty()) return {};
  const double left_ms = half_precision_ms(facts, group);
  Advice advice{.layers = layer_names(group)};
  advice.reason = activation_traffic_text(facts, group);
  advice.action = fmt::format(
      "keep activations as fp16 or bf16, half of the bytes: {} would be left; or make them smaller "
      "before these layers (stride, fewer channels)",
      duration_text(left_ms));
  advice.saving_ms = total_ms(group) - left_ms;
  return advice;
}

}  // namespace assay::profile
