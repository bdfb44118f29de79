// Starting and ending steps, which is no work of the model's.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay {

namespace {

std::string tiny_text(const RunFacts& facts, const StepGroup& group) {
  if (group.empty()) return "";
  return fmt::format("; steps that do little else: {} of {}, {}", group.size(),
                     facts.steps().size(), facts.time_text(total_ms(group)));
}

std::string threads_text(const Profile& profile) {
  if (profile.program.threads < 2) return "";
  return fmt::format("; {} threads are started for each, so try --threads 1 as well",
                     profile.program.threads);
}

}  // namespace

std::optional<Advice> overhead(const RunFacts& facts) {
  constexpr double kMuch = 0.1;
  constexpr std::int64_t kLarger = 8;
  const Profile& profile = facts.profile();
  const StepGroup group =
      facts.where([](const StepFacts& step) { return step.is_bound_by(Bound::Overhead); });
  const double each_ms = facts.roofline().step_overhead_ms;
  const double starting_ms = each_ms * static_cast<double>(profile.steps.size());
  if (facts.share(std::max(starting_ms, total_ms(group))) <= kMuch) return {};
  const std::int64_t batch = kLarger * profile.batch;
  Advice advice{.layers = layer_names(group.empty() ? facts.steps() : group)};
  advice.reason =
      fmt::format("{} steps at {} each to start and end them are {}{}", profile.steps.size(),
                  duration_text(each_ms), facts.time_text(starting_ms), tiny_text(facts, group));
  advice.action = fmt::format("run {} samples at once (--batch {}), which start them once{}", batch,
                              batch, threads_text(profile));
  advice.gain_ms = std::min(starting_ms, profile.typical_run_ms) * (1 - 1.0 / kLarger);
  return advice;
}

}  // namespace assay
