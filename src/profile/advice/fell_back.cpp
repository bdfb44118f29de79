// Layers that ran on the plain reference kernels.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

// A step that fell back does not report what it executes: use the counted work of the model.
StepWork counted_work(const StepFacts& step) {
  StepWork work = step.work;
  const double counted = step.step->rates.gflops_per_second.value_or(0) * step.time_ms() * 1e6;
  work.flops = std::max(work.flops, counted);
  return work;
}

// Without ceilings, the time of a fast kernel is unknown.
double least_ms(const RunFacts& facts, const StepGroup& group) {
  if (!facts.profile().roofline) return 0;
  double sum_ms = 0;
  for (const StepFacts& step : group) {
    const double limit_ms = least_time(counted_work(step), facts.roofline()).limit_ms();
    sum_ms += std::min(step.time_ms(), limit_ms + facts.roofline().step_overhead_ms);
  }
  return sum_ms;
}

std::string left_text(const RunFacts& facts, const StepGroup& group) {
  if (!facts.profile().roofline) return "at most all of that time can be saved";
  return fmt::format("at the measured ceilings {} would be left",
                     duration_text(least_ms(facts, group)));
}

// Why the slowest fell back, and how many others had other reasons.
std::string why(const StepGroup& group) {
  const StepFacts& slowest = group.front();
  const auto is_other = [&](const StepFacts& step) {
    return step.step->info.fell_back != slowest.step->info.fell_back;
  };
  const auto others = std::ranges::count_if(group, is_other);
  return fmt::format("{}{}", slowest.step->info.fell_back,
                     others == 0 ? "" : fmt::format("; {} for other reasons", others));
}

}  // namespace

std::optional<Advice> fell_back(const RunFacts& facts) {
  const StepGroup group = facts.where([](const StepFacts& step) { return step.fell_back(); });
  if (group.empty()) return {};
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format("{} in the plain reference kernel: {}",
                              facts.time_text(total_ms(group)), why(group));
  advice.action =
      fmt::format("use ops and attributes that have a fast kernel: {}", left_text(facts, group));
  advice.saving_ms = total_ms(group) - least_ms(facts, group);
  return advice;
}

std::optional<Advice> reference_engine(const RunFacts& facts) {
  const StepGroup& group = facts.steps();
  if (group.empty()) return {};
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format("{} in plain kernels that are written for correctness, not speed",
                              facts.time_text(total_ms(group)));
  advice.action = fmt::format("`engine` {}: {}", default_engine(), left_text(facts, group));
  advice.saving_ms = total_ms(group) - least_ms(facts, group);
  return advice;
}

}  // namespace assay::profile
