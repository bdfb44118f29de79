// Layout changes, needed where neighbouring layers use different layouts.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

const ProfileStep* next_work(const Profile& profile, const ProfileStep& reorder) {
  const auto after = profile.steps.begin() + (&reorder - profile.steps.data()) + 1;
  const auto next = std::find_if(after, profile.steps.end(),
                                 [](const ProfileStep& step) { return step.info.op != "Reorder"; });
  return next == profile.steps.end() ? nullptr : &*next;
}

const ProfileStep* work_before(const Profile& profile, const ProfileStep& reorder) {
  const ProfileStep* last = nullptr;
  for (const ProfileStep& step : profile.steps) {
    if (&step == &reorder) break;
    if (step.info.op != "Reorder") last = &step;
  }
  return last;
}

// The step that computed what is reordered; not always the one just before, unless another runtime
// ran them, which does not tell.
const ProfileStep* producer(const Profile& profile, const ProfileStep& reorder) {
  if (profile.imported) return work_before(profile, reorder);
  if (reorder.info.layers.empty()) return nullptr;
  const ProfileStep* last = nullptr;
  for (const ProfileStep& step : profile.steps) {
    if (&step == &reorder) break;
    const auto& made = step.info.layers;
    const bool makes_it = std::ranges::find(made, reorder.info.layers.back()) != made.end();
    if (makes_it && step.info.op != "Reorder") last = &step;
  }
  return last;
}

std::string step_text(const ProfileStep& step) {
  const std::string& name = step.layer_names.empty() ? step.info.name : step.layer_names.front();
  return step.info.algorithm.empty() ? name : fmt::format("{} ({})", name, step.info.algorithm);
}

std::string between_text(const ProfileStep* from, const ProfileStep* to) {
  return fmt::format("between {} and {}", from ? step_text(*from) : "an input",
                     to ? step_text(*to) : "an output");
}

std::string changes_text(const StepGroup& group) {
  if (group.size() == 1) return "one change of layout";
  return fmt::format("{} changes of layout", group.size());
}

bool is_product(const ProfileStep& step) {
  return step.info.op == "Gemm" || step.info.op == "MatMul";
}

std::string agreement_text(const ProfileStep* from, const ProfileStep* to) {
  if (!from) return "provide the input in the layout that the first layer reads";
  if (!to) return "take the output in the layout that its last layer writes";
  if (is_product(*to) && !is_product(*from)) {
    return "pool images to one pixel before they are flattened: a single pixel is the same in "
           "every layout";
  }
  return "use layers of the same kind on both sides, with channels that fill vectors, so that both "
         "use one layout";
}

}  // namespace

std::optional<Advice> layout_changes(const RunFacts& facts) {
  constexpr double kMuch = 0.03;
  const StepGroup group = facts.where([](const StepFacts& step) { return step.is_reorder(); });
  const double time_ms = total_ms(group);
  if (facts.share(time_ms) <= kMuch) return {};
  const ProfileStep& slowest = *group.front().step;
  const ProfileStep* from = producer(facts.profile(), slowest);
  const ProfileStep* to = next_work(facts.profile(), slowest);
  Advice advice{.layers = layer_names(group)};
  advice.reason =
      fmt::format("{} for {}, {} moved; the longest, {}, is {}", facts.time_text(time_ms),
                  changes_text(group), with_binary_unit(total_work(group).bytes()),
                  duration_text(slowest.time_ms), between_text(from, to));
  advice.action = agreement_text(from, to) + "; without layout changes all of that time is saved";
  advice.saving_ms = time_ms;
  return advice;
}

}  // namespace assay::profile
