// assay compare: which of two models is faster, from fresh processes that measure in turns; or two
// stored results. Gates decide the exit code.
#include <algorithm>
#include <memory>

#include "assay/machine.h"
#include "assay/stored_sweep.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/compare_accuracy.h"
#include "cli/compare_gates.h"
#include "cli/compare_outputs.h"
#include "cli/compare_results.h"
#include "cli/console.h"
#include "cli/model_argument.h"

namespace assay::cli {

namespace {

struct CompareArguments {
  std::string a;
  std::string b;
  ModelArguments shapes;  // for both; its model stays empty
  EngineArguments engine;
  DataArguments data;
  std::string max_time;
  std::string threshold;
  std::string power_watts;
  bool stored = false;
  GateArguments gates;
  CompareOutputArguments outputs;
};

constexpr const char* kCompareExamples = R"(Examples:
  assay compare old.onnx new.onnx                fresh processes in turns, a verdict on B
  assay compare zoo:resnet18 zoo:resnet50 --threads 1 --batch 8
  assay compare old.onnx new.onnx --max-time 300 --threshold 0.5
  assay profile old.onnx --json > old.json       then, later,
  assay compare old.json new.onnx                old.onnx runs again if it is unchanged
  assay compare old.json new.json --stored       the stored samples
  assay profile new.onnx --json | assay compare old.json -   '-' is a profile from a pipe
  assay compare outputs_old outputs_new          two sweeps, row by row
As a gate, with exit code 1 if it fails:
  assay compare old.onnx new.onnx --fail-if 'latency>5%' --max-time 20
  assay compare old.onnx new.onnx --fail-if 'memory_mb>64' --fail-if 'throughput<-5%'
  assay compare old.onnx new.onnx --dataset fashion-mnist --fail-if 'accuracy<-0.5'
  assay compare old.onnx new.onnx --fail-if 'latency>5%' --junit gate.xml --step-summary
The verdict is FASTER, SLOWER, SAME or UNDECIDED, for B compared with A. A gate is PASSED, FAILED
or UNDECIDED; docs/ci.md lists its metrics.)";

// What the arguments ask for: numbers instead of text.
struct CompareRequest {
  ComparisonOptions options;
  std::vector<Gate> gates;
  std::optional<double> power_watts;
};

CompareRequest request_of(const CompareArguments& arguments) {
  CompareRequest request;
  if (!arguments.max_time.empty()) {
    request.options.max_seconds = parse_decimal("--max-time", arguments.max_time, 0.1);
  }
  if (!arguments.threshold.empty()) {
    request.options.threshold = parse_decimal("--threshold", arguments.threshold, 0.001) / 100.0;
  }
  if (!arguments.power_watts.empty()) {
    request.power_watts = parse_decimal("--power-watts", arguments.power_watts, 1e-6);
  }
  request.gates = parse_gates(arguments.gates);
  RunOptions checked;
  apply_engine_options(arguments.engine, checked);  // report mistakes before anything starts
  return request;
}

// --- models that can be run

// Everything that gates may limit.
ModelComparison completed(ModelComparison comparison, const CompareRequest& request,
                          const std::optional<ComparedAccuracy>& accuracy) {
  comparison.accuracy = accuracy;
  comparison.power_watts = request.power_watts;
  comparison.threshold = request.options.threshold;
  return comparison;
}

// An accuracy is measured once, before the first pair.
bool needs_more_pairs(const GateResult& result) {
  return result.verdict == GateVerdict::Undecided && result.gate.metric != "accuracy";
}

// Gates say when to stop, if there are any.
IsDecided when_decided(const CompareRequest& request,
                       const std::optional<ComparedAccuracy>& accuracy) {
  if (request.gates.empty()) return has_verdict;
  return [&request, &accuracy](const ModelComparison& so_far) {
    const ComparedRow row{.metrics = compared_metrics(completed(so_far, request, accuracy))};
    return std::ranges::none_of(judge_gates(request.gates, {row}), needs_more_pairs);
  };
}

ModelComparison measured_in_turns(const ComparedModels& models, const CompareArguments& arguments,
                                  const CompareRequest& request, bool quiet) {
  ProgressBar progress(quiet);
  std::vector<std::string> warnings;
  const auto accuracy = compared_accuracy(models, arguments.data, progress, warnings);
  ModelComparison comparison = run_in_turns(processes_of(models), request.options, progress,
                                            when_decided(request, accuracy));
  comparison.warnings.insert(comparison.warnings.end(), warnings.begin(), warnings.end());
  return completed(std::move(comparison), request, accuracy);
}

// --- stored samples

// A model next to a stored profile runs now, alone.
StoredProfile profile_of(const ComparedResult& result, const CompareRequest& request, bool quiet) {
  if (result.profile) return *result.profile;
  ProgressBar progress(quiet);
  StoredProfile profile =
      profile_alone(process_of(result.fresh), "/proc/self/exe", request.options, progress);
  profile.processor = read_topology().processor;
  return profile;
}

ModelComparison compared_as_stored(const ComparedResult& a, const ComparedResult& b,
                                   const CompareRequest& request, bool quiet) {
  const StoredProfile of_a = profile_of(a, request, quiet);
  ModelComparison comparison =
      compare_profiles(of_a, profile_of(b, request, quiet), request.options);
  for (const ComparedResult* result : {&a, &b}) {
    if (result->why_not_fresh.empty()) continue;
    comparison.warnings.push_back(
        fmt::format("{} was not run again: {}", result->argument, result->why_not_fresh));
  }
  return completed(std::move(comparison), request, {});
}

// --- which of them

CompareReport compared_models(ComparedResult a, ComparedResult b, const CompareArguments& arguments,
                              const CompareRequest& request, bool quiet) {
  if (a.profile && !b.profile) adopt_setting(*a.profile, b.fresh);
  if (b.profile && !a.profile) adopt_setting(*b.profile, a.fresh);
  const bool has_stored = a.profile || b.profile;
  const bool runs_afresh =
      a.can_run() && b.can_run() && !(has_stored && arguments.stored) && !are_of_one_model(a, b);
  if (!runs_afresh && !arguments.data.dataset.empty()) {
    fail_usage("--dataset needs two models that can be run, not stored samples");
  }
  catch_interrupts();
  EngineArguments tuned = arguments.engine;
  const SharedTuning tuning(tuned);
  for (ComparedResult* result : {&a, &b}) {
    if (!chooses_algorithms(result->fresh.engine)) continue;
    result->fresh.engine.tuning = tuned.tuning;
    result->fresh.engine.no_tuning = tuned.no_tuning;
  }
  ModelComparison comparison =
      runs_afresh ? measured_in_turns({a.fresh, b.fresh}, arguments, request, quiet)
                  : compared_as_stored(a, b, request, quiet);
  if (runs_afresh) {
    if (was_measured_again(a, comparison.a.profile)) comparison.measured_again.emplace_back("A");
    if (was_measured_again(b, comparison.b.profile)) comparison.measured_again.emplace_back("B");
  }
  warn_of_settings(comparison);
  return compare_report(std::move(comparison));
}

void check_gates(const CompareArguments& arguments, const CompareRequest& request,
                 bool are_sweeps) {
  if (limits(request.gates, "accuracy") && arguments.data.dataset.empty() && !are_sweeps) {
    fail_usage("--fail-if on accuracy needs a data set: give --dataset");
  }
  if (are_sweeps && !arguments.data.dataset.empty()) {
    fail_usage("--dataset is for models; sweeps have their accuracies");
  }
}

CompareReport compared(const CompareArguments& arguments, const CompareRequest& request,
                       bool quiet) {
  if (arguments.a == "-" && arguments.b == "-") fail_usage("only one of A and B can be -");
  ComparedResult a = find_result(arguments.a, arguments.shapes, arguments.engine);
  ComparedResult b = find_result(arguments.b, arguments.shapes, arguments.engine);
  const bool a_is_sweep = a.source == ResultSource::Sweep;
  if (a_is_sweep != (b.source == ResultSource::Sweep)) {
    fail_usage("give two sweeps, or two models or stored profiles, not {} and {}", arguments.a,
               arguments.b);
  }
  check_gates(arguments, request, a_is_sweep);
  if (a_is_sweep) return compare_sweeps(read_sweep(arguments.a), read_sweep(arguments.b));
  return compared_models(std::move(a), std::move(b), arguments, request, quiet);
}

Exit run_compare(const CompareArguments& arguments, bool quiet) {
  const std::int64_t start = steady_clock().nanoseconds();
  const CompareRequest request = request_of(arguments);
  const bool fails_undecided = undecided_fails(arguments.gates);
  CompareOutputs outputs(arguments.outputs);
  CompareReport report = compared(arguments, request, quiet);
  report.gates = judge_gates(request.gates, report.rows);
  report.undecided_fails = fails_undecided;
  for (std::string& warning : gate_warnings(request.gates)) {
    report.warnings.push_back(std::move(warning));
  }
  report.seconds = static_cast<double>(steady_clock().nanoseconds() - start) * 1e-9;
  outputs.write(report);
  print_warnings(report.warnings, quiet);
  return exit_after(report, quiet);
}

}  // namespace

void add_compare(CommandLine& program) {
  auto arguments = std::make_shared<CompareArguments>();
  Command* compare = program.app.add_subcommand(
      "compare", "Tell which of two models is faster, or fail if a limit is exceeded");
  const char* what =
      "an .onnx file, zoo:NAME, a profile stored as .json (- reads one from standard input), or a "
      "sweep's folder";
  compare->add_option("A", arguments->a, what)->required();
  compare->add_option("B", arguments->b, what)->required();
  add_gate_options(*compare, arguments->gates);
  add_compare_outputs(*compare, arguments->outputs);
  compare->heading("Measurement");
  compare->add_option("--max-time SECONDS", arguments->max_time,
                      "stop after N seconds if undecided; default 60");
  compare->add_option("--threshold PERCENT", arguments->threshold,
                      "treat a change below N percent as noise in the verdict; default 1");
  compare->add_option("--power-watts WATTS", arguments->power_watts,
                      "compare energies as N watts × latency");
  compare->add_flag("--stored", arguments->stored,
                    "compare stored samples, even if the models could be run again");
  add_data_options(*compare, arguments->data);
  add_shape_options(*compare, arguments->shapes);
  add_engine_options(*compare, arguments->engine);
  compare->footer(kCompareExamples);
  compare->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_compare(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
