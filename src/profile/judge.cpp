#include "profile/judge.h"

#include <algorithm>
#include <map>

namespace assay::profile {

namespace {

// Starting a step takes at least half of its time.
bool is_mostly_overhead(double time_ms, const Roofline& roofline) {
  return time_ms <= 2 * roofline.step_overhead_ms;
}

void set_reached(double time_ms, double limit_ms, Rates& rates) {
  if (time_ms <= 0) return;
  rates.percent_of_ceiling = 100 * limit_ms / time_ms;
  rates.headroom_ms = std::max(0.0, time_ms - limit_ms);
}

// A library that does not say how it computes leaves the instructions of its step empty. It may
// execute less than is counted.
bool says_how(const StepInfo& step) {
  return step.device == "cpu" || !step.isa.empty();
}

// It surely executes less if it would be faster than the GPU.
bool has_credible_flops(const ProfileStep& step, const LeastTime& least) {
  if (says_how(step.info)) return true;
  return step.info.executed_flops > 0 && least.compute_ms <= step.time_ms;
}

void judge_step(const Roofline& roofline, double run_bytes, ProfileStep& step) {
  if (step.info.device != roofline.device) return;
  const StepWork work = work_of(step.info, run_bytes);
  if (work.flops <= 0 && work.bytes() <= 0) return;
  const LeastTime least = least_time(work, roofline);
  if (!has_credible_flops(step, least)) return step.rates.executed_gflops_per_second.reset();
  set_reached(step.time_ms, least.limit_ms(), step.rates);
  step.rates.bound = is_mostly_overhead(step.time_ms, roofline) ? Bound::Overhead : least.bound();
  if (step.rates.bound == Bound::Memory) step.rates.bound_level = least.level;
}

double limit_ms(const ProfileStep& step) {
  return step.time_ms * step.rates.percent_of_ceiling.value_or(0) / 100;
}

// What bounds most of the time of some steps.
struct Binding {
  Bound bound = Bound::Overhead;
  std::string level = "";
};

std::optional<Binding> main_binding(const std::vector<const ProfileStep*>& steps) {
  std::map<std::pair<Bound, std::string>, double> time_ms;
  for (const ProfileStep* step : steps) {
    if (step->rates.bound) time_ms[{*step->rates.bound, step->rates.bound_level}] += step->time_ms;
  }
  if (time_ms.empty()) return {};
  const auto most =
      std::ranges::max_element(time_ms, {}, [](const auto& entry) { return entry.second; });
  return Binding{most->first.first, most->first.second};
}

bool has_unknown_work(const ProfileStep& step) {
  return !says_how(step.info) && !step.rates.executed_gflops_per_second;
}

void judge_layer(const std::vector<ProfileStep>& steps, ProfileLayer& layer) {
  std::vector<const ProfileStep*> own;
  double least_ms = 0;
  for (const std::size_t at : layer.steps) {
    own.push_back(&steps[at]);
    if (has_unknown_work(steps[at])) layer.rates.executed_gflops_per_second.reset();
    if (steps[at].rates.bound) least_ms += limit_ms(steps[at]);
  }
  const auto binding = main_binding(own);
  if (!binding || !layer.time_ms) return;
  layer.rates.bound = binding->bound;
  layer.rates.bound_level = binding->level;
  set_reached(*layer.time_ms, least_ms, layer.rates);
}

// Memory or arithmetic, whichever bounds more of the time, regardless of overhead.
std::optional<Bound> bottleneck_of(const Profile& profile, const Roofline& roofline) {
  double compute_ms = 0;
  double memory_ms = 0;
  const double run_bytes = run_bytes_of(profile);
  for (const ProfileStep& step : profile.steps) {
    if (step.info.device != roofline.device) continue;
    const LeastTime least = least_time(work_of(step.info, run_bytes), roofline);
    if (least.limit_ms() <= 0) continue;
    (least.bound() == Bound::Compute ? compute_ms : memory_ms) += step.time_ms;
  }
  if (compute_ms + memory_ms <= 0) return {};
  return compute_ms >= memory_ms ? Bound::Compute : Bound::Memory;
}

// The rate at which all arithmetic would be done if each step reached the peak of its precision.
double peak_of_all(const Profile& profile, const Roofline& roofline) {
  double flops = 0;
  double compute_ms = 0;
  for (const ProfileStep& step : profile.steps) {
    const StepWork work = work_of(step.info, 0);
    if (step.info.device != roofline.device || !peak_gflops(roofline, work.precision, work.isa))
      continue;
    flops += work.flops;
    compute_ms += least_time(work, roofline).compute_ms;
  }
  constexpr double kGflopsPerFlopMs = 1e-6;
  return compute_ms > 0 ? flops / compute_ms * kGflopsPerFlopMs : roofline.peak_gflops;
}

void judge_whole(const Roofline& roofline, Profile& profile) {
  profile.bottleneck = bottleneck_of(profile, roofline);
  profile.peak_gflops = peak_of_all(profile, roofline);
  profile.computational_efficiency =
      std::clamp(profile.executed_gflops_per_second / *profile.peak_gflops, 0.0, 1.0);
  double least_ms = 0;
  for (const ProfileStep& step : profile.steps) {
    if (step.rates.bound) least_ms += limit_ms(step);
  }
  if (profile.run_ms() <= 0) return;
  profile.percent_of_ceiling = 100 * least_ms / profile.run_ms();
  profile.headroom_ms = std::max(0.0, profile.run_ms() - least_ms);
}

}  // namespace

double run_bytes_of(const Profile& profile) {
  return static_cast<double>(profile.memory.peak_bytes);
}

StepWork work_of(const StepInfo& step, double run_bytes) {
  return {.flops = static_cast<double>(step.executed_flops),
          .weight_bytes = static_cast<double>(step.weight_bytes),
          .read_bytes = static_cast<double>(step.bytes_read - step.weight_bytes),
          .written_bytes = static_cast<double>(step.bytes_written),
          .run_bytes = run_bytes,
          .precision = step.precision,
          .isa = step.isa};
}

void judge(Profile& profile, const Roofline& roofline) {
  profile.roofline = roofline;
  const double run_bytes = run_bytes_of(profile);
  for (ProfileStep& step : profile.steps) judge_step(roofline, run_bytes, step);
  for (ProfileLayer& layer : profile.layers) judge_layer(profile.steps, layer);
  judge_whole(roofline, profile);
}

double furthest_above_ceiling(const Profile& profile) {
  constexpr double kSureMilliseconds = 0.02;
  double furthest = 0;
  for (const ProfileStep& step : profile.steps) {
    if (step.time_ms < kSureMilliseconds) continue;
    furthest = std::max(furthest, step.rates.percent_of_ceiling.value_or(0) / 100);
  }
  return furthest;
}

}  // namespace assay::profile
