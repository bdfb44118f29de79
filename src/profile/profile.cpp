// The steps of a profile: prepare, compile, run and measure, then attribute the time.
#include "assay/profile.h"

#include <fmt/core.h>

#include "assay/engine.h"
#include "gpu/libraries.h"
#include "profile/assemble.h"
#include "profile/attribute.h"
#include "profile/compiled_model.h"
#include "profile/counted.h"
#include "profile/judge.h"
#include "profile/own_ceilings.h"
#include "profile/profile_prepared.h"
#include "profile/resident_memory.h"
#include "stats/order_statistics.h"

namespace assay {

using namespace assay::profile;

namespace {

// A program that has run once, and the memory that took.
struct Started {
  std::unique_ptr<Program> program;
  std::optional<std::int64_t> grown_bytes = {};
};

Started start(Inferred model, const ProgramOptions& options, const ProgramCallbacks& callbacks,
              StartUp& start_up, Progress* progress) {
  Clock& clock = steady_clock();
  const ResidentGrowth growth;
  Started started;
  start_up.compile_ms =
      timed_ms(clock, [&] { started.program = compile(std::move(model), options, progress); });
  callbacks.after_compile(*started.program);
  start_up.first_run_ms = timed_ms(clock, [&] { started.program->run(); });
  started.grown_bytes = growth.bytes();
  return started;
}

std::string device_of(const Program& program) {
  return find_engine(program.engine()).device;
}

std::vector<std::string> value_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values()) names.push_back(value.name);
  return names;
}

// A compiled graph keeps the numbers of the model's values; those beyond are the engine's own.
std::vector<NamedBuffer> named_buffers(const Program& program,
                                       const std::vector<std::string>& names) {
  std::vector<NamedBuffer> buffers;
  for (const ProgramBuffer& buffer : program.buffers()) {
    const bool is_named = buffer.value.is_valid() && buffer.value.number < names.size();
    buffers.push_back({is_named ? names[buffer.value.number] : "", buffer.bytes, buffer.offset,
                       buffer.first_step, buffer.last_step});
  }
  return buffers;
}

ProgramFacts facts_of(const Started& started, const std::vector<std::string>& names) {
  ProgramFacts facts = profile::facts_of(*started.program);
  facts.memory.buffers = named_buffers(*started.program, names);
  facts.memory.peak_rss_growth_bytes = started.grown_bytes;
  return facts;
}

// A copy is short and its time steady, so the median of a few will do. Inputs are others now.
std::optional<Copies> copies_of(Program& program, const ProgramOptions& options) {
  constexpr int kCopies = 9;
  if (device_of(program) == "cpu" || !options.keep_outputs) return {};
  const std::vector<Tensor> inputs = random_inputs(program.inputs());
  Clock& clock = steady_clock();
  std::vector<double> in;
  std::vector<double> out;
  for (int i = 0; i < kCopies; ++i) {
    in.push_back(timed_ms(clock, [&] { program.set_inputs(inputs); }));
    out.push_back(timed_ms(clock, [&] { (void)program.results(); }));
  }
  return Copies{stats::median(in), stats::median(out)};
}

// Counters are read between steps, in separate runs: reading them takes longer than a clock.
void count_events(Program& program, std::vector<ProfileStep>& steps,
                  std::vector<std::string>& why_not) {
  constexpr int kRuns = 5;
  Counters counters;
  why_not = counters.why_not();
  if (counters.available().empty()) return;
  counters.start();
  std::vector<CounterValues> sums(steps.size());
  CounterSnapshot last;
  program.on_step([&](std::size_t step) {
    CounterSnapshot now = counters.read();
    add_to(between(last, now), sums[step]);
    last = counters.read();
  });
  for (int run = 0; run < kRuns; ++run) {
    last = counters.read();
    program.run();
  }
  program.on_step({});
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].counters = divided(sums[i], kRuns);
}

EnergyEstimate energy_of(Program& program, const ProfileOptions& options, double latency_ms,
                         Progress* progress) {
  EnergyEstimate estimate;
  if (options.power_watts) estimate = energy_by_proxy(*options.power_watts, latency_ms);
  if (!options.measure_energy) return estimate;
  const EnergyMeters found = find_energy_meters();
  EnergyMeter* meter = runs_on_gpu(options.run.program) ? gpu_meter(found) : primary_meter(found);
  if (meter == nullptr) {
    const std::string why = why_no_meter(found);
    estimate.note = estimate.note.empty() ? why : why + "; " + estimate.note;
    return estimate;
  }
  EnergyEstimate measured = energy_per_run(measure_energy(
      *meter, [&] { program.run(); }, {}, progress));
  measured.proxy_j = estimate.proxy_j;
  measured.power_watts = estimate.power_watts;
  return measured;
}

// What slower kernels do the work of, because a library is missing.
void add_library_notes(Profile& profile) {
  for (const std::string& note : gpu::libraries().notes)
    profile.warnings.push_back("missing-library: " + note);
}

// No step can be faster than a ceiling: if one is, the ceiling was measured while the machine was
// busy with something else.
constexpr double kCannotBe = 1.03;

void judge_on_this_machine(const ProfileOptions& options, Progress* progress, Profile& profile) {
  Machine machine = machine_for(profile.program, options.machine, progress);
  const auto judged = [&] {
    const auto roofline = roofline_for(profile.program, machine);
    if (roofline) judge(profile, *roofline);
    return roofline.has_value();
  };
  if (!judged() || furthest_above_ceiling(profile) < kCannotBe) return;
  measure_again_for(profile.program, machine, progress);
  judged();
  if (const double above = furthest_above_ceiling(profile); above >= kCannotBe) {
    profile.warnings.push_back(fmt::format(
        "above-ceiling: a step reached {:.0f} % of what was measured as this machine's ceiling; "
        "call `measure_machine` again when nothing else runs",
        100 * above));
  }
}

}  // namespace

Profile profile::profile_prepared(Prepared prepared, StartUp start_up,
                                  const ProfileOptions& options, const ProgramCallbacks& callbacks,
                                  Progress* progress) {
  Facts facts = known_before(prepared);
  const std::vector<std::string> names = value_names(prepared.inferred.graph);
  Started started =
      start(std::move(prepared.inferred), options.run.program, callbacks, start_up, progress);
  Observation seen = observe(*started.program, options.timing, options.traced_runs, progress,
                             steady_clock(), start_up.first_run_ms);
  const bool was_interrupted = seen.measurement.cancelled;
  Profile profile = assemble(std::move(facts), facts_of(started, names), std::move(seen));
  if (const auto state = machine_state_for(device_of(*started.program)).times())
    profile.gpu_state = state->gpu;
  if (options.count_events && !was_interrupted) {
    count_events(*started.program, profile.steps, profile.uncounted_events);
  }
  if (!was_interrupted) {
    started.program->observe_steps(false);
    profile.energy =
        energy_of(*started.program, options, profile.latency.latency.median_ms, progress);
  }
  if (runs_on_gpu(options.run.program)) add_library_notes(profile);
  profile.program = options.run.program;
  profile.program.engine = started.program->engine();
  profile.program.cpu.threads = started.program->threads();
  if (callbacks.before_release) callbacks.before_release(*started.program);
  if (!was_interrupted) profile.copies = copies_of(*started.program, options.run.program);
  // Frees its threads and memory before the ceilings are measured.
  started.program.reset();
  profile.seed = options.run.seed;
  profile.start_up = start_up;
  const bool has_time = options.machine || !profile.was_interrupted();
  if (options.judge && has_time) judge_on_this_machine(options, progress, profile);
  return profile;
}

Profile profile_model(Graph graph, std::string name, const ProfileOptions& options,
                      Progress* progress) {
  StartUp start_up{.read_ms = options.read_ms};
  Prepared prepared;
  start_up.infer_ms = timed_ms(steady_clock(), [&] {
    prepared = prepare_to_run(std::move(graph), std::move(name), options.run);
  });
  const ProgramCallbacks callbacks{
      .after_compile = [&, lengths = prepared.full_lengths](Program& program) {
        program.set_inputs(inputs_for(program, options.run, lengths));
        if (!program.state().empty())
          program.set_state(random_inputs(program.state(), options.run.seed));
      }};
  Profile profile = profile_prepared(std::move(prepared), start_up, options, callbacks, progress);
  profile.advice = advise(profile);
  return profile;
}

}  // namespace assay
