// assay sweep plan, worker, merge: a sweep on many machines. The plan is a folder; workers append
// to journals of their own in it, and merging reads them all.
#include <fmt/core.h>

#include <memory>

#include "base/fail.h"
#include "base/text.h"
#include "cli/console.h"
#include "cli/model_argument.h"
#include "cli/sweep_parts.h"
#include "cli/sweep_submit.h"

namespace assay::cli {

namespace {

struct PlanArguments {
  SweepArguments sweep;
  bool prepare = false;
  bool missing = false;
};

struct WorkerArguments {
  std::string folder;
  std::string shard = "0/1";
  bool retry_errors = false;
};

struct MergeArguments {
  std::string folder;
  SweepFormat format;
};

constexpr const char* kPlanExamples = R"(Examples:
  assay sweep plan sweep.yaml -o shared/run        then, on every machine that sees the folder,
  assay sweep worker shared/run --shard 0/8
  assay sweep plan sweep.yaml -o run --prepare     make all models here, for boards that only measure
  assay sweep plan run --missing                   what is not done yet)";

constexpr const char* kWorkerExamples = R"(Examples:
  assay sweep worker shared/run --shard 3/8        every eighth task, from the fourth on
  assay sweep worker run                           all tasks
Results go to a journal of the worker's own. Running it again goes on where it was stopped.)";

constexpr const char* kMergeExamples = R"(Examples:
  assay sweep merge shared/run                     tables, frontiers, pictures, the decision
Merging may be repeated at any time; it names the tasks that are still missing.)";

void note_shards_left(const std::string& folder, const std::vector<SweepTask>& missing,
                      bool quiet) {
  const std::size_t shards = remembered_shards(folder);
  if (shards == 0 || missing.empty()) return;
  const auto left = shards_with(read_plan(folder), missing, shards);
  print_note(fmt::format("shards with work left: {} of {}", range_text(left), shards), quiet);
}

Exit print_missing(const std::string& folder, bool quiet) {
  const MergedSweep merged = merge_sweep(folder);
  std::string text;
  for (const SweepTask& task : merged.missing) {
    text += fmt::format("{}  seed {:<4} {}\n", task.id, task.seed, describe(task));
  }
  print_data(text);
  print_note(fmt::format("{} tasks are not done yet", merged.missing.size()), quiet);
  note_shards_left(folder, merged.missing, quiet);
  return Exit::Fine;
}

void note_outcome(const SweepOutcome& outcome, const char* what, bool quiet) {
  print_note(fmt::format("{} {}: {} done now, {} before, {} failed", outcome.tasks, what,
                         outcome.done_now, outcome.done_before, outcome.failed),
             quiet);
}

Exit run_plan(const PlanArguments& arguments, bool quiet) {
  if (arguments.missing) return print_missing(arguments.sweep.config, quiet);
  const SweepConfig config = config_of(arguments.sweep);
  const SweepPlan plan = plan_sweep(config);
  write_plan(config.output_dir, plan);
  print_data(fmt::format("{}\n", config.output_dir));
  print_note(fmt::format("wrote a plan of {} tasks to {}", plan.tasks.size(), config.output_dir),
             quiet);
  if (!arguments.prepare) return Exit::Fine;
  catch_interrupts();
  ProgressBar progress(quiet);
  const SweepOutcome outcome = prepare_models(config.output_dir, &progress);
  note_outcome(outcome, "models", quiet);
  return outcome.interrupted ? Exit::Interrupted : Exit::Fine;
}

SweepOptions worker_options(const WorkerArguments& arguments) {
  const std::vector<std::string> parts = split(arguments.shard, '/');
  const auto number = [&](std::size_t i) {
    return i < parts.size() ? parse_integer(parts[i]) : std::nullopt;
  };
  const auto shard = number(0);
  const auto shards = number(1);
  const bool is_right = parts.size() == 2 && shard && shards && *shard >= 0 && *shard < *shards;
  if (!is_right) {
    fail_usage("--shard {}: expected I/N with I from 0 to N - 1, for example 0/8", arguments.shard);
  }
  return {.shard = static_cast<std::size_t>(*shard),
          .shards = static_cast<std::size_t>(*shards),
          .retries_errors = arguments.retry_errors};
}

Exit run_worker(const WorkerArguments& arguments, bool quiet) {
  const SweepOptions options = worker_options(arguments);
  catch_interrupts();
  SweepOutcome outcome;
  {
    ProgressBar progress(quiet);
    outcome = work_on_sweep(arguments.folder, options, &progress);
  }
  note_outcome(outcome, "tasks", quiet);
  print_warnings(outcome.warnings, quiet);
  return outcome.interrupted ? Exit::Interrupted : Exit::Fine;
}

void add_plan(Command& sweep, CommandLine& program) {
  auto arguments = std::make_shared<PlanArguments>();
  Command* plan = sweep.add_subcommand("plan", "List the tasks in a folder, for many machines");
  plan->add_option("CONFIG", arguments->sweep.config,
                   "a YAML file; with --missing, the folder of a plan")
      ->required();
  plan->add_option("-o,--out FOLDER", arguments->sweep.output, "the folder, instead of output_dir");
  plan->add_option("--seeds N,…", arguments->sweep.seeds, "one run for each, for example 1,2,3");
  plan->add_flag("--prepare", arguments->prepare,
                 "also train, prune and quantise here, so that workers only measure");
  plan->add_flag("--missing", arguments->missing, "print the tasks that are not done yet");
  plan->footer(kPlanExamples);
  plan->callback([&program, arguments] {
    program.chosen = [&program, arguments] {
      return listing_problems([&] { return run_plan(*arguments, program.quiet); });
    };
  });
}

void add_worker(Command& sweep, CommandLine& program) {
  auto arguments = std::make_shared<WorkerArguments>();
  Command* worker = sweep.add_subcommand("worker", "Do the tasks of one shard of a plan");
  worker->add_option("FOLDER", arguments->folder, "with a plan")->required();
  worker->add_option("--shard I/N", arguments->shard,
                     "I/N: every Nth task from the Ith on, from 0");
  worker->add_flag("--retry-errors", arguments->retry_errors, "do failed tasks again");
  worker->footer(kWorkerExamples);
  worker->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_worker(*arguments, program.quiet); };
  });
}

void add_merge(Command& sweep, CommandLine& program) {
  auto arguments = std::make_shared<MergeArguments>();
  Command* merge = sweep.add_subcommand("merge", "Gather the results of all workers");
  merge->add_option("FOLDER", arguments->folder, "with a plan and journals")->required();
  add_sweep_format(*merge, arguments->format);
  merge->footer(kMergeExamples);
  merge->callback([&program, arguments] {
    program.chosen = [&program, arguments] {
      return merge_and_report(arguments->folder, arguments->format, program.quiet);
    };
  });
}

}  // namespace

Exit merge_and_report(const std::string& folder, const SweepFormat& format, bool quiet) {
  PageFile page(format.html);
  SweepResult result{.merged = merge_sweep(folder, own_command())};
  write_sweep_files(folder, result.merged);
  const std::size_t missing = result.merged.missing.size();
  result.outcome.tasks =
      missing + result.merged.records - result.merged.duplicates - result.merged.foreign;
  result.outcome.done_before = result.outcome.tasks - missing;
  return report_sweep(result, folder, format, page, quiet);
}

void add_sweep_machines(Command& sweep, CommandLine& program) {
  add_plan(sweep, program);
  add_worker(sweep, program);
  add_merge(sweep, program);
  add_submit(sweep, program);
}

}  // namespace assay::cli
