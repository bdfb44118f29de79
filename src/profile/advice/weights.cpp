// Layers bound by reading weights: use fewer bytes per weight, or more samples per read.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

constexpr double kMostly = 0.5;

bool waits_for_weights(const StepFacts& step) {
  return step.is_bound_by(Bound::Memory) && weight_share(step.work) > kMostly;
}

// Shared weights are counted in one layer only: for the others, look at the whole model.
bool has_float32_weights(const StepFacts& step, const CostTotals& totals) {
  constexpr std::int64_t kBytes = 4;
  const LayerCost& cost = step.layer->cost;
  if (cost.parameters > 0) return cost.parameter_bytes >= kBytes * cost.parameters;
  return totals.parameters > 0 && totals.parameter_bytes >= kBytes * totals.parameters;
}

std::string bandwidth_text(const RunFacts& facts, const std::string& level) {
  for (const MemoryRoof& roof : facts.roofline().levels) {
    if (roof.level != level) continue;
    return fmt::format("{} reads {} GB/s here", level, rate_text(roof.read_gbps));
  }
  return level;
}

std::string weight_traffic_text(const RunFacts& facts, const StepGroup& group) {
  const StepWork work = total_work(group);
  const double time_ms = total_ms(group);
  return fmt::format(
      "{} for {} of which {:.0f} % are weights: {} GB/s, {:.0f} % of the measured ceiling ({})",
      facts.time_text(time_ms), with_binary_unit(work.bytes()), 100 * weight_share(work),
      rate_text(work.bytes() / (time_ms * 1e6)), percent_of_ceiling(group),
      bandwidth_text(facts, main_level(group)));
}

// All weights of the group shrink together, and a run touches fewer bytes.
double time_with_weights(const RunFacts& facts, const StepGroup& group, double of_their_bytes) {
  const double saved_bytes = total_work(group).weight_bytes * (1 - of_their_bytes);
  return facts.time_with(group, [&](StepWork work) {
    work.weight_bytes *= of_their_bytes;
    work.run_bytes = std::max(0.0, work.run_bytes - saved_bytes);
    return work;
  });
}

// What `times` as many samples take; the weights are read once for all of them.
double time_of_more_samples(const RunFacts& facts, const StepGroup& group, double times) {
  const double arena_bytes = static_cast<double>(facts.profile().memory.program.arena_bytes);
  return facts.time_with(group, [&](StepWork work) {
    work.flops *= times;
    work.read_bytes *= times;
    work.written_bytes *= times;
    work.run_bytes += (times - 1) * arena_bytes;
    return work;
  });
}

}  // namespace

std::optional<Advice> memory_bound_weights(const RunFacts& facts) {
  const StepGroup group = facts.where([&](const StepFacts& step) {
    return waits_for_weights(step) && has_float32_weights(step, facts.profile().totals);
  });
  if (group.empty()) return {};
  const double time_ms = total_ms(group);
  const double quarter_ms = time_with_weights(facts, group, 0.25);
  const double half_ms = time_with_weights(facts, group, 0.5);
  Advice advice{.layers = layer_names(group)};
  advice.reason = weight_traffic_text(facts, group);
  advice.action = fmt::format(
      "store the weights as int8, a quarter of the bytes: {} would be left; as fp16 or bf16, half "
      "of them: {}. Pruning saves its share of the bytes",
      duration_text(quarter_ms), duration_text(half_ms));
  advice.saving_ms = time_ms - quarter_ms;
  return advice;
}

std::optional<Advice> small_batch(const RunFacts& facts) {
  constexpr std::int64_t kBatch = 8;
  const std::int64_t batch = facts.profile().batch;
  if (batch < 1 || batch >= kBatch) return {};
  // Where reading weights is not most of the time, the time may grow in proportion to the batch.
  const StepGroup group = facts.where(
      [](const StepFacts& step) { return waits_for_weights(step) && step.is_near_ceiling(); });
  if (group.empty()) return {};
  const double times = static_cast<double>(kBatch) / static_cast<double>(batch);
  const double time_ms = total_ms(group);
  const double batch_ms = time_of_more_samples(facts, group, times);
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format("{} of weights are read for a batch of {} in {}",
                              with_binary_unit(total_work(group).weight_bytes), batch,
                              facts.time_text(time_ms));
  advice.action = fmt::format(
      "where samples can wait for each other, run {} at once (`batch` {}): the weights are read "
      "once for all, {} instead of {:g} times {} in these layers; activations take {} instead of "
      "{}",
      kBatch, kBatch, duration_text(batch_ms), times, duration_text(time_ms),
      with_binary_unit(times * static_cast<double>(facts.profile().memory.program.arena_bytes)),
      with_binary_unit(static_cast<double>(facts.profile().memory.program.arena_bytes)));
  advice.saving_ms = time_ms - batch_ms / times;
  return advice;
}

}  // namespace assay::profile
