// Time that is no work of the model's: starting steps, changing layouts, starting up.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay {

namespace {

// --- starting steps

constexpr std::int64_t kBatch = 8;

std::string fewer_threads_text(const Profile& profile) {
  if (profile.program.threads < 2) return "";
  return fmt::format("; starting one on {} threads takes longer than on one: try --threads 1",
                     profile.program.threads);
}

// --- layouts

std::string step_text(const ProfileStep& step) {
  const std::string& name = step.layer_names.empty() ? step.info.name : step.layer_names.front();
  return step.info.algorithm.empty() ? name : fmt::format("{} ({})", name, step.info.algorithm);
}

const ProfileStep* next_work(const Profile& profile, const ProfileStep& reorder) {
  const auto after = profile.steps.begin() + (&reorder - profile.steps.data()) + 1;
  const auto next = std::find_if(after, profile.steps.end(),
                                 [](const ProfileStep& step) { return step.info.op != "Reorder"; });
  return next == profile.steps.end() ? nullptr : &*next;
}

// The step that computed what is reordered; not always the one just before.
const ProfileStep* producer(const Profile& profile, const ProfileStep& reorder) {
  if (reorder.info.layers.empty()) return nullptr;
  const ProfileStep* last = nullptr;
  for (const ProfileStep& step : profile.steps) {
    if (&step == &reorder) break;
    const bool makes_it =
        std::ranges::find(step.info.layers, reorder.info.layers.back()) != step.info.layers.end();
    if (makes_it && step.info.op != "Reorder") last = &step;
  }
  return last;
}

std::string between_text(const ProfileStep* from, const ProfileStep* to) {
  return fmt::format("between {} and {}", from ? step_text(*from) : "an input",
                     to ? step_text(*to) : "an output");
}

bool is_product(const ProfileStep& step) {
  return step.info.op == "Gemm" || step.info.op == "MatMul";
}

std::string layout_action(const ProfileStep* from, const ProfileStep* to) {
  if (!from) return "hand the input over in the layout that its first layer reads";
  if (!to) return "take the output in the layout that its last layer writes";
  if (is_product(*to) && !is_product(*from)) {
    return "pool images to one pixel before they are flattened for the product: that has one "
           "layout";
  }
  return "let neighbours agree on a layout: like layers on both sides, with channels that fill "
         "vectors";
}

// --- starting up

// What choosing algorithms cannot take: reading the weights and storing them as the engine wants.
double packing_ms(const Profile& profile) {
  if (!profile.roofline) return 0;
  const StepWork work{.read_bytes = static_cast<double>(profile.stored_bytes),
                      .written_bytes = static_cast<double>(profile.memory.program.weight_bytes)};
  return least_time(work, *profile.roofline).limit_ms();
}

bool chooses_algorithms(const ProgramOptions& program) {
  return program.optimize_for == OptimizeFor::Latency && program.tuning_file.empty();
}

}  // namespace

std::optional<Advice> overhead(const RunFacts& facts) {
  constexpr double kMuch = 0.1;
  const Profile& profile = facts.profile();
  const StepGroup group =
      facts.where([](const StepFacts& step) { return step.is_bound_by(Bound::Overhead); });
  const double starting_ms =
      facts.roofline().step_overhead_ms * static_cast<double>(profile.steps.size());
  const double tiny_ms = total_ms(group);
  if (facts.share(std::max(starting_ms, tiny_ms)) <= kMuch) return {};
  Advice advice{.layers = layer_names(group.empty() ? facts.steps() : group)};
  advice.reason =
      fmt::format("{} steps at {} each to start and end them are {}; {} of them do little else",
                  profile.steps.size(), duration_text(facts.roofline().step_overhead_ms),
                  facts.time_text(starting_ms), group.size());
  const std::int64_t larger = kBatch * profile.batch;
  advice.action = fmt::format("run {} samples at once (--batch {}), which start them once{}",
                              larger, larger, fewer_threads_text(profile));
  advice.gain_ms = std::min(starting_ms, profile.typical_run_ms) * (1 - 1.0 / kBatch);
  return advice;
}

std::optional<Advice> layout_changes(const RunFacts& facts) {
  constexpr double kMuch = 0.03;
  const StepGroup group = facts.where([](const StepFacts& step) { return step.is_reorder(); });
  const double time_ms = total_ms(group);
  if (facts.share(time_ms) <= kMuch) return {};
  const StepWork work = total_work(group);
  const ProfileStep& slowest = *group.front().step;
  const ProfileStep* from = producer(facts.profile(), slowest);
  const ProfileStep* to = next_work(facts.profile(), slowest);
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format(
      "{} for {} of {} moved from one layout to another; the longest, {}, stands {}",
      facts.time_text(time_ms),
      group.size() == 1 ? "a change" : fmt::format("{} changes", group.size()),
      with_binary_unit(work.bytes()), duration_text(slowest.time_ms), between_text(from, to));
  advice.action = layout_action(from, to) + "; all of that time is to gain";
  advice.gain_ms = time_ms;
  return advice;
}

std::optional<Advice> start_up(const RunFacts& facts) {
  constexpr double kManyRuns = 20;
  constexpr double kNoticedMilliseconds = 50;
  const Profile& profile = facts.profile();
  if (!chooses_algorithms(profile.program)) return {};
  const double start_ms = profile.start_up.compile_ms + profile.start_up.first_run_ms;
  const double runs = start_ms / profile.typical_run_ms;
  if (runs < kManyRuns || start_ms < kNoticedMilliseconds) return {};
  Advice advice{.once = true};
  advice.reason = fmt::format("compiling takes {} and the first run {}, as long as {} runs",
                              duration_text(profile.start_up.compile_ms),
                              duration_text(profile.start_up.first_run_ms),
                              with_thousands(static_cast<std::int64_t>(runs)));
  advice.action = fmt::format(
      "--tuning FILE keeps the algorithms that compiling chose by running them: up to all of that "
      "but storing {} of weights, at least {}",
      with_binary_unit(static_cast<double>(profile.memory.program.weight_bytes)),
      duration_text(packing_ms(profile)));
  advice.gain_ms = std::max(0.0, profile.start_up.compile_ms - packing_ms(profile));
  return advice;
}

}  // namespace assay
