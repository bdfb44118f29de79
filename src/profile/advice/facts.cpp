#include "profile/advice/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "profile/judge.h"

namespace assay::profile {

// Far below its ceiling, a step is limited by something else as well, which would remain.
bool StepFacts::is_near_ceiling() const {
  constexpr double kNearPercent = 100.0 / 3;
  return step->rates.percent_of_ceiling.value_or(0) >= kNearPercent;
}

RunFacts::RunFacts(const Profile& profile) : profile_(profile) {
  const double run_bytes = run_bytes_of(profile);
  for (const ProfileLayer& layer : profile.layers) {
    for (const std::size_t at : layer.steps) {
      const ProfileStep& step = profile.steps[at];
      steps_.push_back({&step, &layer, work_of(step.info, run_bytes)});
    }
  }
  std::ranges::stable_sort(steps_, std::ranges::greater{}, &StepFacts::time_ms);
}

StepGroup RunFacts::where(const std::function<bool(const StepFacts&)>& holds) const {
  StepGroup group;
  std::ranges::copy_if(steps_, std::back_inserter(group), holds);
  return group;
}

double RunFacts::time_with(const StepFacts& step, const ChangeOfWork& change) const {
  const double least_ms = least_time(step.work, roofline()).limit_ms();
  if (least_ms <= 0) return step.time_ms();
  const double changed_ms = least_time(change(step.work), roofline()).limit_ms();
  if (!step.is_near_ceiling()) return step.time_ms() + changed_ms - least_ms;
  const double starting_ms = std::min(step.time_ms(), roofline().step_overhead_ms);
  return starting_ms + (step.time_ms() - starting_ms) * changed_ms / least_ms;
}

double RunFacts::time_with(const StepGroup& group, const ChangeOfWork& change) const {
  double sum_ms = 0;
  for (const StepFacts& step : group) sum_ms += time_with(step, change);
  return sum_ms;
}

std::string RunFacts::time_text(double time_ms) const {
  return fmt::format("{} ({:.0f} % of the run)", duration_text(time_ms), 100 * share(time_ms));
}

double total_ms(const StepGroup& group) {
  double sum_ms = 0;
  for (const StepFacts& step : group) sum_ms += step.time_ms();
  return sum_ms;
}

StepWork total_work(const StepGroup& group) {
  StepWork sum;
  for (const StepFacts& step : group) {
    sum.flops += step.work.flops;
    sum.weight_bytes += step.work.weight_bytes;
    sum.read_bytes += step.work.read_bytes;
    sum.written_bytes += step.work.written_bytes;
    sum.run_bytes = step.work.run_bytes;
  }
  return sum;
}

double percent_of_ceiling(const StepGroup& group) {
  const double time_ms = total_ms(group);
  double least_ms = 0;
  for (const StepFacts& step : group) {
    least_ms += step.time_ms() * step.step->rates.percent_of_ceiling.value_or(0) / 100;
  }
  return time_ms > 0 ? std::min(100.0, 100 * least_ms / time_ms) : 0.0;
}

std::string main_level(const StepGroup& group) {
  std::map<std::string, double> time_ms;
  for (const StepFacts& step : group) time_ms[step.step->rates.bound_level] += step.time_ms();
  if (time_ms.empty()) return "";
  return std::ranges::max_element(time_ms, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

std::vector<std::string> layer_names(const StepGroup& group) {
  std::vector<std::string> names;
  for (const StepFacts& step : group) {
    const std::string& name = step.layer->cost.name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

double weight_share(const StepWork& work) {
  return work.bytes() > 0 ? work.weight_bytes / work.bytes() : 0.0;
}

bool is_depthwise(const StepFacts& step) {
  return step.layer->cost.form.starts_with("depthwise");
}

}  // namespace assay::profile
