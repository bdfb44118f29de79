#include "profile/assemble.h"

#include <algorithm>
#include <map>

#include "assay/engine.h"
#include "base/checked.h"
#include "base/fail.h"
#include "profile/attribute.h"

namespace assay::profile {

namespace {

void sum_up(const std::vector<ProfileStep>& steps, Profile& profile) {
  for (const ProfileStep& step : steps) {
    const StepInfo& info = step.info;
    profile.executed_flops = saturating_add(profile.executed_flops, info.executed_flops);
    profile.traffic_bytes =
        saturating_add(profile.traffic_bytes, saturating_add(info.bytes_read, info.bytes_written));
  }
}

// A plain kernel does not report what it executes: it is the work as counted.
std::vector<StepInfo> with_plain_work(const ProgramFacts& program,
                                      const std::vector<ProfileLayer>& layers) {
  std::vector<StepInfo> steps = program.steps;
  for (StepInfo& step : steps) {
    const bool is_plain = program.is_reference || !step.fell_back.empty();
    if (is_plain && step.executed_flops == 0) step.executed_flops = counted_flops(step, layers);
  }
  return steps;
}

double mean_between_steps(const Observation& seen) {
  double rest_ms = seen.measurement.latency.mean_ms;
  for (const double step : seen.step_means_ms) rest_ms -= step;
  return seen.are_steps_apart ? rest_ms : std::max(0.0, rest_ms);
}

double gflops_per_second(std::int64_t flops, double milliseconds) {
  return milliseconds > 0 ? static_cast<double>(flops) / (milliseconds * 1e6) : 0.0;
}

// One warning per op, with the first reason given for it.
void warn_of_slow_kernels(const std::vector<ProfileStep>& steps,
                          std::vector<std::string>& warnings) {
  std::map<std::string, std::pair<std::size_t, std::string>> by_op;
  for (const ProfileStep& step : steps) {
    if (step.info.fell_back.empty()) continue;
    auto& [count, reason] = by_op[step.info.op];
    if (count++ == 0) reason = step.info.fell_back;
  }
  for (const auto& [op, seen] : by_op) {
    warnings.push_back(
        fmt::format("{} ({}) runs on the plain reference kernel: {}", op, seen.first, seen.second));
  }
}

ProfileMemory memory_of(const ProgramMemory& taken) {
  ProfileMemory memory;
  memory.program = taken;
  memory.peak_bytes = saturating_add(memory.program.weight_bytes, memory.program.arena_bytes);
  memory.useful_bytes =
      saturating_add(memory.program.planned_weight_bytes, memory.program.planned_arena_bytes);
  if (memory.peak_bytes > 0) {
    memory.memory_efficiency = std::min(
        1.0, static_cast<double>(memory.useful_bytes) / static_cast<double>(memory.peak_bytes));
  }
  return memory;
}

}  // namespace

std::string warning_text(const TimingWarning& warning) {
  return warning.advice.empty()
             ? fmt::format("{}: {}", warning.name, warning.message)
             : fmt::format("{}: {}; {}", warning.name, warning.message, warning.advice);
}

Facts known_before(Prepared& prepared) {
  return {.model = std::move(prepared.model),
          .batch = prepared.batch,
          .totals = prepared.cost.totals,
          .peak_activation_bytes = prepared.plan.arena_bytes,
          .stored_bytes = prepared.stored_bytes,
          .uncounted = std::move(prepared.cost.uncounted),
          .layers = layer_rows(prepared.inferred.graph, prepared.cost),
          .warnings = std::move(prepared.warnings)};
}

ProgramFacts facts_of(const Program& program) {
  return {program.steps(), memory_of(program.memory()), program.threads(),
          find_engine(program.engine()).is_reference};
}

Profile assemble(Facts facts, const ProgramFacts& program, Observation seen) {
  const double median_ms = seen.measurement.latency.median_ms;
  Profile profile;
  profile.model = std::move(facts.model);
  profile.batch = facts.batch;
  profile.throughput_sps =
      median_ms > 0 ? static_cast<double>(facts.batch) * 1000.0 / median_ms : 0.0;
  profile.totals = facts.totals;
  profile.peak_activation_bytes = facts.peak_activation_bytes;
  profile.stored_bytes = facts.stored_bytes;
  profile.uncounted = std::move(facts.uncounted);
  profile.memory = program.memory;
  profile.layers = std::move(facts.layers);
  profile.steps = step_rows(with_plain_work(program, profile.layers), seen, profile.layers);
  sum_up(profile.steps, profile);
  profile.gflops_per_second = gflops_per_second(profile.totals.flops, median_ms);
  profile.executed_gflops_per_second = gflops_per_second(profile.executed_flops, median_ms);
  profile.between_steps_ms = seen.at_median.between_steps_ms;
  profile.between_steps_mean_ms = mean_between_steps(seen);
  profile.are_steps_timed_apart = seen.are_steps_apart;
  const bool is_noisy = seen.measurement.verdict == Verdict::Noisy;
  attribute_steps(profile.steps, median_ms, is_noisy, profile.layers);
  profile.warnings = std::move(facts.warnings);
  warn_of_slow_kernels(profile.steps, profile.warnings);
  for (const auto& warning : seen.measurement.warnings) {
    profile.warnings.push_back(warning_text(warning));
  }
  profile.latency = std::move(seen.measurement);
  profile.traced_runs = std::move(seen.traced_runs);
  return profile;
}

}  // namespace assay::profile
