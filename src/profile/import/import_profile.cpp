// The steps of an import: prepare, join, check that it is the same model, assemble, judge.
#include "assay/import_profile.h"

#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "profile/assemble.h"
#include "profile/compiled_model.h"
#include "profile/import/kernel_steps.h"
#include "profile/import/op_kinds.h"
#include "profile/judge.h"
#include "profile/own_ceilings.h"

namespace assay {

using namespace assay::profile;

namespace {

// --- is it a trace of this model?

struct Agreement {
  std::size_t kernels = 0;  // that compute, outside of bodies
  std::size_t named = 0;    // of these, found by name
  double time_ms = 0;
  double found_ms = 0;
  double macs = 0;
  double found_macs = 0;  // of nodes whose kernel is of their kind
};

Agreement agreement_of(const RuntimeTrace& trace, const std::vector<JoinedKernel>& joined,
                       const std::vector<ProfileLayer>& layers) {
  Agreement seen;
  for (const ProfileLayer& layer : layers) seen.macs += static_cast<double>(layer.cost.macs);
  std::vector<bool> is_counted(layers.size());
  for (std::size_t i = 0; i < joined.size(); ++i) {
    const RuntimeKernel& kernel = trace.kernels[i];
    seen.time_ms += total_run_ms(kernel);
    if (joined[i].by != FoundBy::Nothing) seen.found_ms += total_run_ms(kernel);
    if (kernel.is_layout_change || kernel.parent != RuntimeKernel::kNoParent) continue;
    ++seen.kernels;
    if (joined[i].by == FoundBy::Name) ++seen.named;
    const std::string kind = op_kind(kernel.op);
    for (const std::uint32_t node : joined[i].nodes) {
      if (is_counted[node] || !may_stand_for(kind, op_kind(layers[node].cost.op))) continue;
      is_counted[node] = true;
      seen.found_macs += static_cast<double>(layers[node].cost.macs);
    }
  }
  return seen;
}

void check_is_same_model(const RuntimeTrace& trace, const Agreement& seen) {
  constexpr double kMostNames = 0.2;
  constexpr double kAlmostAll = 0.9;
  const auto kernels = static_cast<double>(seen.kernels);
  const bool names_agree =
      seen.named > 0 && static_cast<double>(seen.named) >= kMostNames * kernels;
  const bool order_agrees = seen.found_ms >= kAlmostAll * seen.time_ms && seen.macs > 0 &&
                            seen.found_macs >= kAlmostAll * seen.macs;
  if (names_agree || order_agrees) return;
  fail_bad_input(
      "{}: {} of {} kernels of this {} profile have the name of a node of the model, and by order "
      "and kind of op they cover {:.0f} % of its MACs: it seems to be a profile of another model. "
      "Give the model file that the runtime ran, not one that was renamed, simplified or quantised "
      "since",
      trace.file, seen.named, seen.kernels, trace.runtime,
      seen.macs > 0 ? 100 * seen.found_macs / seen.macs : 0.0);
}

// Layouts in blocks have other shapes for the same tensor.
bool has_comparable_shape(const RuntimeKernel& kernel, const JoinedKernel& joined) {
  return kernel.output_dims && joined.by == FoundBy::Name && joined.nodes.size() == 1 &&
         kernel.parent == RuntimeKernel::kNoParent &&
         kernel.name.find("_nchwc") == std::string::npos;
}

void check_has_same_shapes(const RuntimeTrace& trace, const std::vector<JoinedKernel>& joined,
                           const std::vector<ProfileLayer>& layers) {
  std::size_t same = 0;
  std::size_t different = 0;
  std::string example;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    const RuntimeKernel& kernel = trace.kernels[i];
    if (!has_comparable_shape(kernel, joined[i])) continue;
    const LayerCost& cost = layers[joined[i].nodes.front()].cost;
    if (!cost.output_shape || !cost.output_shape->is_known()) continue;
    const bool is_same = *cost.output_shape == Shape(*kernel.output_dims);
    ++(is_same ? same : different);
    if (!is_same && example.empty()) {
      example = fmt::format("'{}' wrote {}, but with the shapes given it writes {}", kernel.name,
                            join_dims(*kernel.output_dims), cost.output_shape->to_string());
    }
  }
  if (different <= same) return;
  fail_bad_input(
      "{}: was recorded with other shapes: {}. Give those of the recorded runs: `batch`, "
      "`input_shapes` or `dims`",
      trace.file, example);
}

// --- what is known, as a measurement of our own would have it

ProfileMemory planned_memory(const Prepared& prepared) {
  ProfileMemory memory;
  memory.program = {.weight_bytes = prepared.stored_bytes,
                    .arena_bytes = prepared.plan.arena_bytes,
                    .planned_weight_bytes = prepared.stored_bytes,
                    .planned_arena_bytes = prepared.plan.arena_bytes};
  memory.peak_bytes = prepared.stored_bytes + prepared.plan.arena_bytes;
  memory.useful_bytes = memory.peak_bytes;
  memory.memory_efficiency = 1;
  NamedPlan named = named_plan(prepared);
  memory.planned_steps = std::move(named.steps);
  memory.planned_buffers = std::move(named.buffers);
  return memory;
}

std::int64_t nanoseconds(double milliseconds) {
  return static_cast<std::int64_t>(milliseconds * 1e6 + 0.5);
}

std::vector<TracedRun> traced_runs(const RuntimeTrace& trace) {
  constexpr std::size_t kMost = 5;
  std::vector<TracedRun> runs;
  std::int64_t start = 0;
  for (std::size_t run = 0; run < std::min(kMost, trace.runs_ms.size()); ++run) {
    TracedRun traced{.start_nanoseconds = start,
                     .duration_nanoseconds = nanoseconds(trace.runs_ms[run])};
    for (const RuntimeKernel& kernel : trace.kernels) {
      traced.step_nanoseconds.push_back(nanoseconds(kernel.run_ms[run]));
    }
    start += traced.duration_nanoseconds;
    runs.push_back(std::move(traced));
  }
  return runs;
}

Measurement measurement_of(const RuntimeTrace& trace) {
  Measurement measured = summarize_samples(trace.runs_ms);
  measured.warmup_runs = trace.warmup_runs;
  measured.first_run_ms = trace.first_run_ms;
  if (!trace.is_average) return measured;
  measured.verdict = Verdict::Valid;
  measured.warnings = {{.name = "one-time-per-kernel",
                        .message =
                            "the file has one time for each kernel, not single runs, so there "
                            "is no interval",
                        .advice = ""}};
  return measured;
}

Observation observation_of(const RuntimeTrace& trace) {
  Observation seen;
  seen.measurement = measurement_of(trace);
  seen.traced_runs = traced_runs(trace);
  StepTimes times(trace.kernels.size());
  for (std::size_t run = 0; run < trace.runs_ms.size(); ++run) {
    std::vector<std::int64_t> steps;
    for (const RuntimeKernel& kernel : trace.kernels) {
      steps.push_back(nanoseconds(kernel.run_ms[run]));
    }
    times.add(steps, 1);
  }
  seen.step_means_ms = times.means_ms();
  seen.step_medians_ms = times.medians_ms();
  seen.at_median = times.at_median(seen.measurement.samples_ms, seen.measurement.latency.median_ms);
  return seen;
}

ImportedFrom source_of(const RuntimeTrace& trace, const std::vector<JoinedKernel>& joined,
                       const Profile& profile) {
  ImportedFrom from{.runtime = trace.runtime,
                    .file = trace.file,
                    .has_runs = trace.has_whole_runs,
                    .averaged_runs = trace.averaged_runs,
                    .is_average = trace.is_average,
                    .threads = trace.threads,
                    .kernels = joined.size()};
  for (std::size_t i = 0; i < joined.size(); ++i) {
    const double time_ms = profile.steps[i].time_ms;
    if (joined[i].by == FoundBy::Name) from.by_name_ms += time_ms;
    if (joined[i].by == FoundBy::Position) from.by_position_ms += time_ms;
    if (joined[i].by != FoundBy::Nothing) continue;
    from.unattributed_ms += time_ms;
    ++from.unattributed_kernels;
  }
  return from;
}

void mark_unattributed(std::vector<ProfileLayer>& layers) {
  for (ProfileLayer& layer : layers) {
    if (layer.cost.node.is_valid() || layer.steps.empty()) continue;
    layer.cost.note = "belongs to no node of the model";
    layer.warnings.emplace_back("not attributed");
  }
}

// --- ceilings

bool ran_on_processor(const RuntimeTrace& trace) {
  return std::ranges::any_of(trace.kernels,
                             [](const RuntimeKernel& kernel) { return kernel.device == "cpu"; });
}

void judge_imported(const RuntimeTrace& trace, const ImportOptions& options, Progress* progress,
                    Profile& profile) {
  constexpr double kCannotBe = 1.03;
  if (!ran_on_processor(trace)) {
    profile.warnings.push_back(
        fmt::format("{} ran on another device: it is not compared with this machine's ceilings",
                    trace.runtime));
    return;
  }
  const int threads = profile.program.cpu.threads;
  const Machine machine = options.machine ? *options.machine : quickly_measured(threads, progress);
  const auto roofline = roofline_of(machine, threads);
  if (!roofline) return;
  judge(profile, *roofline);
  if (const double above = furthest_above_ceiling(profile); above >= kCannotBe) {
    profile.warnings.push_back(fmt::format(
        "above-ceiling: a kernel reached {:.0f} % of this machine's ceiling: the file may be from "
        "another machine, from more threads (`threads`), or {} needs less arithmetic than is "
        "counted (Winograd)",
        100 * above, trace.runtime));
  }
}

void set_threads(const RuntimeTrace& trace, const ImportOptions& options, Profile& profile) {
  const auto stated = options.threads ? options.threads : trace.threads;
  profile.program.cpu.threads =
      stated.value_or(std::max(1, static_cast<int>(read_topology().usable.size())));
  profile.imported->threads = stated;
  if (!stated && options.judge && ran_on_processor(trace)) {
    profile.warnings.push_back(fmt::format(
        "the file does not tell how many threads ran: compared with the ceilings of {}; `threads` "
        "states it",
        profile.program.cpu.threads));
  }
}

}  // namespace

Profile import_profile(Graph graph, std::string name, const RuntimeTrace& trace,
                       const ImportOptions& options, Progress* progress) {
  Prepared prepared = prepare_to_run(std::move(graph), std::move(name), options.run);
  const Graph& model = prepared.inferred.graph;
  const auto joined = join_kernels(model, trace.kernels);
  Facts facts = known_before(prepared);
  check_is_same_model(trace, agreement_of(trace, joined, facts.layers));
  check_has_same_shapes(trace, joined, facts.layers);
  const ProgramFacts program{.steps = kernel_steps(model, facts.layers, trace, joined),
                             .memory = planned_memory(prepared)};
  Profile profile = assemble(std::move(facts), program, observation_of(trace));
  profile.imported = source_of(trace, joined, profile);
  profile.program.engine = trace.runtime;
  set_threads(trace, options, profile);
  mark_unattributed(profile.layers);
  profile.warnings.insert(profile.warnings.end(), trace.notes.begin(), trace.notes.end());
  if (options.power_watts) profile.energy = energy_by_proxy(*options.power_watts, profile.run_ms());
  if (options.judge) judge_imported(trace, options, progress, profile);
  profile.advice = advise(profile);
  return profile;
}

}  // namespace assay
