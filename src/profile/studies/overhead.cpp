// What measuring costs: the same program bare, and in every mode that observes it.
#include <algorithm>

#include "assay/counters.h"
#include "assay/study.h"
#include "assay/zoo.h"
#include "base/fail.h"
#include "base/part_of_progress.h"
#include "base/text.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"
#include "profile/studies/rounds.h"
#include "stats/order_statistics.h"

namespace assay {

using namespace assay::profile;

namespace {

constexpr const char* kOverheadModel = "mlp";
constexpr double kMeasurable = 1.02;  // a factor
constexpr double kBlockMs = 4;        // of runs that are timed together
constexpr std::size_t kMostRunsInBlock = 2000;

// A way of observing runs: `run` performs so many, observed.
struct MeasuringMode {
  std::string name;
  std::string use;
  std::function<void(std::size_t runs)> run;
};

void time_each_run(Program& program, std::size_t runs) {
  std::vector<double> samples;
  samples.reserve(runs);
  for (std::size_t i = 0; i < runs; ++i) {
    samples.push_back(timed_ms(steady_clock(), [&] { program.run(); }));
  }
}

void time_steps(Program& program, std::size_t runs) {
  program.observe_steps(true);
  program.reset_step_times();
  for (std::size_t i = 0; i < runs; ++i) program.run();
  program.observe_steps(false);
}

// As for a timeline: the steps of every run are kept.
void trace_steps(Program& program, std::size_t runs) {
  std::vector<TracedRun> traced;
  traced.reserve(runs);
  program.observe_steps(true);
  for (std::size_t i = 0; i < runs; ++i) {
    program.reset_step_times();
    const std::int64_t start = steady_clock().nanoseconds();
    program.run();
    const std::int64_t end = steady_clock().nanoseconds();
    const auto steps = program.step_nanoseconds();
    traced.push_back({start, end - start, {steps.begin(), steps.end()}});
  }
  program.observe_steps(false);
}

void count_steps(Program& program, Counters& counters, std::size_t runs) {
  counters.start();
  CounterSnapshot last = counters.read();
  program.observe_steps(true);
  program.on_step([&](std::size_t) { last = counters.read(); });
  for (std::size_t i = 0; i < runs; ++i) program.run();
  program.on_step({});
  program.observe_steps(false);
  counters.stop();
}

std::vector<MeasuringMode> modes_of(Program& program, Counters& counters) {
  std::vector<MeasuringMode> modes = {
      {"bare", "production", runs_of(program)},
      {"timing", "latency alone, CI", [&](std::size_t runs) { time_each_run(program, runs); }},
      {"layers", "which layers are slow", [&](std::size_t runs) { time_steps(program, runs); }},
      {"trace", "timelines of runs", [&](std::size_t runs) { trace_steps(program, runs); }}};
  if (!counters.available().empty()) {
    modes.push_back({"counters", "why layers are slow",
                     [&](std::size_t runs) { count_steps(program, counters, runs); }});
  }
  return modes;
}

std::size_t runs_in_block(Program& program) {
  const double one_ms = timed_ms(steady_clock(), [&] { program.run(); });
  const double runs = kBlockMs / std::max(1e-6, one_ms);
  return std::clamp<std::size_t>(static_cast<std::size_t>(runs), 1, kMostRunsInBlock);
}

// Milliseconds of a run in every mode, by round: modes take turns.
std::vector<std::vector<double>> timed_modes(const std::vector<MeasuringMode>& modes,
                                             std::size_t runs, std::size_t rounds,
                                             Progress* progress) {
  std::vector<std::vector<double>> times(modes.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    PartOfProgress part(progress, static_cast<double>(round) / static_cast<double>(rounds), 1,
                        "measuring modes in turns");
    part.report(0, "");
    if (part.cancelled()) fail_cancelled();
    for (std::size_t i = 0; i < modes.size(); ++i) {
      const double block_ms = timed_ms(steady_clock(), [&] { modes[i].run(runs); });
      times[i].push_back(block_ms / static_cast<double>(runs));
    }
  }
  return times;
}

OverheadRow overhead_row(const MeasuringMode& mode, const std::vector<double>& times,
                         const std::vector<double>& bare) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / bare[i]);
  OverheadRow row{.mode = mode.name, .overhead_class = "", .use = mode.use};
  row.latency_ms = stats::median(times);
  row.overhead_factor = stats::median(ratios);
  row.overhead_ms = std::max(0.0, (row.overhead_factor - 1) * stats::median(bare));
  row.overhead_class = overhead_class(row.overhead_factor);
  return row;
}

const OverheadRow* row_of_mode(const ProfilingOverhead& study, std::string_view mode) {
  const auto found = std::ranges::find(study.rows, mode, &OverheadRow::mode);
  return found == study.rows.end() ? nullptr : &*found;
}

}  // namespace

std::string_view overhead_class(double factor) {
  return factor < 2 ? "low" : factor < 10 ? "moderate" : "high";
}

std::vector<std::string> overhead_verdict(const ProfilingOverhead& study) {
  const OverheadRow& bare = study.rows.front();
  std::vector<std::string> sentences = {
      study.overhead_factor < kMeasurable
          ? fmt::format("Timing every layer of a run of {} costs nothing measurable: {} overhead.",
                        duration_text(bare.latency_ms), study.overhead_class)
          : fmt::format("Timing every layer makes a run of {} {:.2f} times as long: {} overhead.",
                        duration_text(bare.latency_ms), study.overhead_factor,
                        study.overhead_class)};
  if (const OverheadRow* timing = row_of_mode(study, "timing")) {
    sentences.push_back(timing->overhead_factor < kMeasurable
                            ? std::string("Timing whole runs costs nothing measurable.")
                            : fmt::format("Timing whole runs costs a factor of {:.2f} ({} a run).",
                                          timing->overhead_factor,
                                          duration_text(timing->overhead_ms)));
    sentences.emplace_back(
        study.overhead_factor < 2
            ? "Time every layer by default: it tells where the time goes at little cost."
            : "Take latency from whole runs; time layers only to find the slow ones.");
  }
  if (const OverheadRow* counters = row_of_mode(study, "counters")) {
    sentences.push_back(fmt::format(
        "Counters cost a factor of {:.2f} ({}): {}.", counters->overhead_factor,
        counters->overhead_class,
        counters->overhead_factor < 2
            ? "times of counted runs can be trusted"
            : "read the counts of such runs, and take times from runs without counters"));
  }
  return sentences;
}

ProfilingOverhead analyze_profiling_overhead(const StudyOptions& options, Progress* progress) {
  return analyze_profiling_overhead(zoo_model(kOverheadModel), std::string("zoo:") + kOverheadModel,
                                    options, {}, progress);
}

ProfilingOverhead analyze_profiling_overhead(const Graph& model, const std::string& name,
                                             const StudyOptions& options, const RunOptions& run,
                                             Progress* progress) {
  if (options.runs == 0 || options.rounds == 0) fail_usage("a study needs at least one run");
  const RunOptions one = study_run(run, options);
  Prepared prepared = prepare_to_run(model, name, one);
  ProfilingOverhead study;
  study.model = prepared.model;
  const auto program = compile(std::move(prepared.inferred), one.program, progress);
  program->set_inputs(inputs_for(*program, one, prepared.full_lengths));
  runs_of (*program)(std::max<std::size_t>(1, options.warmup));
  study.engine = program->engine();
  study.threads = program->threads();
  if (options.machine) study.roofline = roofline_of(*options.machine, study.threads);
  Counters counters;
  const auto modes = modes_of(*program, counters);
  const LoadSince load;
  const auto times =
      timed_modes(modes, runs_in_block(*program), options.runs * options.rounds, progress);
  for (std::size_t i = 0; i < modes.size(); ++i) {
    study.rows.push_back(overhead_row(modes[i], times[i], times.front()));
  }
  if (row_of_mode(study, "counters") == nullptr) {
    study.warnings.insert(study.warnings.end(), counters.why_not().begin(),
                          counters.why_not().end());
  }
  load.add_to(study.warnings);
  study.overhead_factor = row_of_mode(study, "layers")->overhead_factor;
  study.overhead_class = row_of_mode(study, "layers")->overhead_class;
  study.verdict = overhead_verdict(study);
  return study;
}

}  // namespace assay
