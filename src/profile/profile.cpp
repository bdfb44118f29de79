// The story of a profile: prepare, compile, run and watch, then say whose time it was.
#include "assay/profile.h"

#include "profile/assemble.h"
#include "profile/attribute.h"
#include "profile/compiled_model.h"
#include "profile/quick_ceiling.h"
#include "profile/resident_memory.h"

namespace assay {

namespace {

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

// A program that has run once, and what it took to come so far.
struct Started {
  std::unique_ptr<Program> program;
  std::optional<std::int64_t> grown_bytes = {};
};

Started start(Inferred model, const RunOptions& options, StartUp& start_up, Progress* progress) {
  Clock& clock = steady_clock();
  const ResidentGrowth growth;
  Started started;
  start_up.compile_ms = timed_ms(
      clock, [&] { started.program = compile(std::move(model), options.program, progress); });
  started.program->set_inputs(inputs_for(*started.program, options));
  start_up.first_run_ms = timed_ms(clock, [&] { started.program->run(); });
  started.grown_bytes = growth.bytes();
  return started;
}

// Frees the program, its threads and its memory with it: what follows has the machine to itself.
ProgramFacts ended(Started started) {
  ProgramFacts facts = facts_of(*started.program);
  facts.memory.peak_rss_growth_bytes = started.grown_bytes;
  return facts;
}

QuickCeiling quick_ceiling(const ProgramOptions& options, const ProgramFacts& program) {
  return {.peak_gflops = estimate_peak_gflops(options),
          .bandwidth_gbps = estimate_bandwidth_gbps(program.threads, program.memory.useful_bytes)};
}

}  // namespace

Profile profile_model(Graph graph, std::string name, const ProfileOptions& options,
                      Progress* progress) {
  StartUp start_up{.read_ms = options.read_ms};
  Prepared prepared;
  start_up.infer_ms = timed_ms(steady_clock(), [&] {
    prepared = prepare_to_run(std::move(graph), std::move(name), options.run);
  });
  Facts facts = known_before(prepared);
  Started started = start(std::move(prepared.inferred), options.run, start_up, progress);
  Observation seen = observe(*started.program, options.timing, options.traced_runs, progress);
  const ProgramFacts program = ended(std::move(started));
  const bool wants_ceiling = options.estimate_ceilings && !seen.measurement.cancelled;
  const QuickCeiling ceiling =
      wants_ceiling ? quick_ceiling(options.run.program, program) : QuickCeiling{};
  Profile profile = assemble(std::move(facts), program, std::move(seen), ceiling);
  profile.program = options.run.program;
  profile.program.threads = program.threads;
  profile.seed = options.run.seed;
  profile.start_up = start_up;
  return profile;
}

}  // namespace assay
