// assay sweep: many versions of a model made, measured and judged; resumes by itself.
#include "assay/sweep.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "assay/sweep_config_file.h"
#include "assay/sweep_report.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/model_argument.h"
#include "cli/page.h"
#include "cli/sweep_parts.h"

namespace assay::cli {

namespace {

constexpr const char* kSweepExamples = R"(Examples:
  assay sweep init sweep.yaml          a configuration with every key explained
  assay sweep sweep.yaml               train, prune, convert, measure, decide
  assay sweep sweep.yaml               again: goes on where it was stopped
  assay sweep sweep.yaml --dry-run     what it would do, and how long that takes
  assay sweep sweep.yaml --seeds 1,2,3   with statistics over three trainings
  assay sweep plan sweep.yaml          for many machines: see docs/sweep.md
On a terminal it prints tables, otherwise summary.json. Ctrl-C finishes the version being measured,
writes everything and ends with 130; a second one stops at once.)";

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds;
  for (const std::string& part : split(text, ',')) {
    const auto seed = static_cast<std::uint64_t>(parse_count("--seeds", part, 0));
    if (std::ranges::count(seeds, seed) > 0)
      fail_usage("--seeds {}: {} is there twice", text, seed);
    seeds.push_back(seed);
  }
  return seeds;
}

Exit print_plan(const SweepConfig& config) {
  const SweepPlan plan = plan_sweep(config);
  const std::vector<double> seconds = estimate_seconds(plan);
  std::string text;
  double total = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const SweepTask& task = plan.tasks[i];
    total += seconds[i];
    text += fmt::format("{}  seed {:<4} {:<32}", task.id, task.seed, describe(task));
    if (task.batch_size > 0) text += fmt::format(" batch {:<5}", task.batch_size);
    if (task.threads > 0) text += fmt::format(" {} threads", task.threads);
    text += "\n";
  }
  print_data(text + fmt::format("{} tasks, roughly {} on this machine\n", plan.tasks.size(),
                                duration_text(1000 * total)));
  return Exit::Fine;
}

Exit run_sweep_command(const SweepArguments& arguments, bool quiet) {
  const SweepConfig config = config_of(arguments);
  if (arguments.print_config) {
    print_data(sweep_config_yaml(config));
    return Exit::Fine;
  }
  if (arguments.dry_run) return print_plan(config);
  PageFile page(arguments.format.html);
  catch_interrupts();
  SweepResult result;
  {
    ProgressBar progress(quiet);
    result = run_sweep(config, {.retries_errors = arguments.retry_errors, .command = own_command()},
                       &progress);
  }
  return report_sweep(result, config.output_dir, arguments.format, page, quiet);
}

Exit run_init(const std::string& file, bool quiet) {
  const std::string path = file.empty() ? "sweep.yaml" : file;
  if (::access(path.c_str(), F_OK) == 0) {
    fail_bad_input("{}: is there already; name another file", path);
  }
  write_file(path, sweep_config_template());
  print_note(fmt::format("wrote {}; run it with 'assay sweep {}'", path, path), quiet);
  return Exit::Fine;
}

void add_init(Command& sweep, CommandLine& program) {
  auto file = std::make_shared<std::string>();
  Command* init = sweep.add_subcommand("init", "Write a configuration with every key explained");
  init->add_option("FILE", *file, "to write; default sweep.yaml");
  init->footer("Examples:\n  assay sweep init\n  assay sweep init mine.yaml");
  init->callback([&program, file] {
    program.chosen = [&program, file] { return run_init(*file, program.quiet); };
  });
}

}  // namespace

Exit listing_problems(const std::function<Exit()>& work) {
  try {
    return work();
  } catch (const SweepConfigError& error) {
    for (const std::string& problem : error.problems()) print_error(problem);
    return Exit::BadInput;
  }
}

SweepConfig config_of(const SweepArguments& arguments) {
  if (arguments.config.empty()) {
    fail_usage(
        "a configuration is missing; 'assay sweep init sweep.yaml' writes one to begin with");
  }
  if (arguments.config.ends_with(".onnx")) {
    fail_bad_input(
        "{}: a model, not a configuration; 'assay sweep init' writes one, its key model names "
        "the file",
        arguments.config);
  }
  SweepConfig config = read_sweep_config(arguments.config);
  if (!arguments.seeds.empty()) config.seeds = parse_seeds(arguments.seeds);
  if (!arguments.output.empty()) config.output_dir = arguments.output;
  return config;
}

void add_sweep_format(Command& command, SweepFormat& format) {
  command.heading("Output");
  Option* json = command.add_flag("--json", format.json, "print summary.json");
  Option* csv = command.add_flag("--csv", format.csv, "print a header and a row for each version");
  Option* table = command.add_flag("--table", format.table, "print tables, also into a pipe");
  Option* markdown = command.add_flag("--markdown", format.markdown, "print tables in Markdown");
  json->excludes(csv)->excludes(table)->excludes(markdown);
  csv->excludes(table)->excludes(markdown);
  table->excludes(markdown);
  add_page_option(command, format.html);
}

void add_sweep(CommandLine& program) {
  auto arguments = std::make_shared<SweepArguments>();
  Command* sweep = program.app.add_subcommand(
      "sweep", "Make, measure and judge many versions of a model; resumes by itself");
  sweep->add_option("CONFIG", arguments->config, "a YAML file; see 'assay sweep init'");
  sweep->add_option("-o,--out FOLDER", arguments->output,
                    "the folder for results, instead of output_dir");
  sweep->add_option("--seeds N,…", arguments->seeds, "one run for each, for example 1,2,3");
  sweep->add_flag("--print-config", arguments->print_config,
                  "print the configuration with all defaults, and do nothing");
  sweep->add_flag("--dry-run", arguments->dry_run,
                  "print the tasks and a rough estimate of their time, and do nothing");
  sweep->add_flag("--retry-errors", arguments->retry_errors, "do failed tasks again");
  add_sweep_format(*sweep, arguments->format);
  sweep->footer(kSweepExamples);
  add_init(*sweep, program);
  add_sweep_machines(*sweep, program);
  sweep->callback([&program, arguments, sweep] {
    if (sweep->chose_subcommand()) return;
    program.chosen = [&program, arguments] {
      return listing_problems([&] { return run_sweep_command(*arguments, program.quiet); });
    };
  });
}

}  // namespace assay::cli
