// Time spent starting and ending steps, which is not work of the model.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

// A step's overhead is at most its time.
double starting_all_ms(const RunFacts& facts) {
  double sum_ms = 0;
  for (const StepFacts& step : facts.steps()) {
    sum_ms += std::min(step.time_ms(), facts.roofline().step_overhead_ms);
  }
  return sum_ms;
}

std::string tiny_text(const RunFacts& facts, const StepGroup& group) {
  if (group.empty()) return "";
  return fmt::format("; those that do little else: {}, {}", group.size(),
                     facts.time_text(total_ms(group)));
}

std::string threads_text(const Profile& profile) {
  if (profile.program.cpu.threads < 2) return "";
  return fmt::format("; {} threads are started for each, so try `threads` 1 as well",
                     profile.program.cpu.threads);
}

}  // namespace

std::optional<Advice> overhead(const RunFacts& facts) {
  constexpr double kMuch = 0.1;
  constexpr std::int64_t kLarger = 8;
  const Profile& profile = facts.profile();
  const StepGroup group =
      facts.where([](const StepFacts& step) { return step.is_bound_by(Bound::Overhead); });
  const double starting_ms = starting_all_ms(facts);
  const double tiny_ms = total_ms(group);
  if (facts.share(std::max(starting_ms, tiny_ms)) <= kMuch) return {};
  const std::int64_t batch = kLarger * profile.batch;
  Advice advice{.layers = layer_names(tiny_ms > starting_ms ? group : facts.steps())};
  advice.reason =
      fmt::format("{} to start and end {} steps, {} for each that takes longer{}",
                  facts.time_text(starting_ms), facts.steps().size(),
                  duration_text(facts.roofline().step_overhead_ms), tiny_text(facts, group));
  advice.action = fmt::format(
      "run {} samples at once (`batch` {}), so that each step starts once for all of them{}", batch,
      batch, threads_text(profile));
  advice.saving_ms = starting_ms * (1 - 1.0 / kLarger);
  return advice;
}

}  // namespace assay::profile
