// assay evaluate: accuracy, latency, memory and energy of a model on a data set, in one row.
#include <algorithm>
#include <memory>

#include "assay/memory_budget.h"
#include "assay/metrics_report.h"
#include "base/fail.h"
#include "base/heap.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/data_options.h"
#include "cli/engine_options.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"
#include "cli/output_format.h"

namespace assay::cli {

namespace {

struct EvaluateArguments {
  std::string model;
  DataArguments data;
  EngineArguments engine;
  std::string batch;
  std::string device;
  std::string precision = "fp32";
  std::string power_watts;
  std::string latency_multiplier;
  std::string repeats;
  std::string runs;
  std::string warmup;
  std::string budgets;
  OutputFormat format;
};

constexpr const char* kEvaluateExamples = R"(Examples:
  assay evaluate trained.onnx --dataset fashion-mnist
  assay evaluate trained.onnx --dataset data.npz --batch 1 --threads 1 --power-watts 5
  assay evaluate zoo:small_cnn --dataset synthetic --memory-budgets-mb 1,2,4 --json
  assay evaluate trained.onnx --dataset fashion-mnist --latency-multiplier 1.43 --csv
Accuracy is over the data set's test part, or all of it where it has none. Times and energies are
for one batch.)";

constexpr double kWatts = 5;
constexpr std::int64_t kRepeats = 5;

std::vector<double> budgets_of(const std::string& text) {
  std::vector<double> budgets;
  if (text.empty()) return budgets;
  for (const std::string& part : split(text, ',')) {
    budgets.push_back(parse_decimal("--memory-budgets-mb", part, 0));
  }
  return budgets;
}

double decimal_or(const char* flag, const std::string& text, double otherwise) {
  return text.empty() ? otherwise : parse_decimal(flag, text, 1e-9);
}

MetricsOptions metrics_options(const EvaluateArguments& arguments, const RunOptions& run) {
  MetricsOptions options{.program = run.program};
  const auto count = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  if (!arguments.runs.empty()) options.num_runs = count(parse_count("--runs", arguments.runs, 1));
  if (!arguments.warmup.empty()) {
    options.warmup = count(parse_count("--warmup", arguments.warmup, 0));
  }
  return options;
}

MetricsReport report_of(const EvaluateArguments& arguments, const ProgramOptions& program) {
  const std::string device =
      arguments.device.empty() ? find_engine(program.engine).device : arguments.device;
  return {.device = device,
          .precision = arguments.precision,
          .batch = count_or("--batch", arguments.batch, kEvaluationBatch),
          .power_watts = decimal_or("--power-watts", arguments.power_watts, kWatts),
          .latency_multiplier = decimal_or("--latency-multiplier", arguments.latency_multiplier, 1),
          .repeats = static_cast<std::size_t>(count_or("--repeats", arguments.repeats, kRepeats))};
}

Exit run_evaluate(const EvaluateArguments& arguments, bool quiet) {
  const std::vector<double> budgets = budgets_of(arguments.budgets);
  RunOptions run;
  apply_engine_options(arguments.engine, run);
  MetricsReport report = report_of(arguments, run.program);
  const MetricsOptions options = metrics_options(arguments, run);
  const Graph graph = load_model(arguments.model);
  const Dataset data = test_data(arguments.data, graph, run.seed, report.warnings);
  report.model = model_summary(graph, arguments.model);
  report.dataset = evaluated_on(data);
  report.batch = std::min(report.batch, data.size());
  report.threads = report.device == "cpu" ? threads_of(options.program) : 0;
  catch_interrupts();
  keep_freed_memory();
  ProgressBar progress(quiet);
  const Loader loader(data, {.batch_size = report.batch, .shuffle = false});
  report.metrics = naming_model(arguments.model, [&] {
    return collect_metrics(graph, loader, report.device, report.power_watts, report.precision,
                           report.latency_multiplier, report.repeats, options, &progress);
  });
  report.violations = memory_violations(report.metrics.memory_mb, budgets);
  print_data(formatted(
      arguments.format, [&](const Layout&) { return metrics_table(report); },
      [&] { return metrics_json(report); }, [&] { return metrics_csv(report); }));
  print_warnings(report.warnings, quiet);
  return Exit::Fine;
}

void add_metric_options(Command& command, EvaluateArguments& arguments) {
  command.heading("Measurement");
  command.add_option("--batch N", arguments.batch, "samples in a run; default 64");
  command.add_option("--device ID", arguments.device,
                     "cpu or cuda; default: the one that the engine runs on");
  command.add_option("--precision TYPE", arguments.precision,
                     "fp32 (default), bf16, fp16, or int8 for a quantised model");
  command.add_option("--power-watts WATTS", arguments.power_watts,
                     "energy_proxy_j is this power × latency; default 5");
  command.add_option("--latency-multiplier X", arguments.latency_multiplier,
                     "scales every latency, and so throughput and energy: 1.43 for a processor at "
                     "0.7 of its frequency; default 1");
  command.add_option("--repeats N", arguments.repeats,
                     "series of runs; latency figures are statistics of their means; default 5");
  command.add_option("--runs N", arguments.runs, "runs in a series; default 100");
  command.add_option("--warmup N", arguments.warmup, "runs before each series; default 3");
  command.add_option("--memory-budgets-mb MB,…", arguments.budgets,
                     "report whether stored tensors exceed these budgets, for example 1,2,4");
}

}  // namespace

void add_evaluate(CommandLine& program) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Command* evaluate = program.app.add_subcommand(
      "evaluate", "Accuracy, latency, memory and energy on a data set, in one row");
  evaluate->add_option("MODEL", arguments->model, "an .onnx file, or zoo:NAME")->required();
  add_data_options(*evaluate, arguments->data)->required();
  add_metric_options(*evaluate, *arguments);
  add_engine_options(*evaluate, arguments->engine);
  add_output_format(*evaluate, arguments->format, "print a header and one row");
  evaluate->footer(kEvaluateExamples);
  evaluate->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_evaluate(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
