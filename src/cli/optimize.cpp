// assay optimize: writes a smaller or faster version of a model, made as told or searched for.
#include <memory>

#include <fmt/core.h>

#include "assay/device_list.h"
#include "assay/stored_calibration.h"
#include "assay/version_search.h"
#include "base/heap.h"
#include "base/sha256.h"
#include "cli/commands.h"
#include "cli/compared_model.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cli/machine_choice.h"
#include "cli/model_argument.h"
#include "cli/optimize_advice.h"
#include "cli/optimize_files.h"
#include "cli/optimize_plan.h"
#include "cli/page.h"

namespace assay::cli {

namespace {

constexpr const char* kOptimizeExamples = R"(Examples:
  assay optimize model.onnx -o half.onnx --precision bf16
  assay optimize model.onnx -o int8.onnx --precision int8 --calibrate images/
  assay optimize trained.onnx -o small.onnx --dataset fashion-mnist --target-ms 50% --max-loss 0.5
  assay optimize trained.onnx -o small.onnx --dataset fashion-mnist --prune 0.5 --finetune 2
  assay optimize model.onnx -o pi.onnx --calibrate images/ --target-ms 30 --device raspberry-pi-4-4gb
  assay optimize model.onnx -o thin.onnx --low-rank 0.5 --dataset fashion-mnist --finetune 2
  assay optimize model.onnx -o tidy.onnx --tidy
  assay optimize zoo:resnet18 -o out.onnx --target-mb 20 --calibrate random
  assay optimize model.onnx -o int8.onnx --precision int8 --calibrate images/ --sensitivity
With a target, versions are tried from small changes to large ones: half precision, 8 bits, low rank,
then pruning; the first that meets it is written. FILE.onnx.json beside it tells how it was made. Exit
code 1: no version meets the target, and the best one found is written.)";

// --- before the search

TargetDevice target_device(const OptimizeArguments& arguments, bool quiet, Progress& progress,
                           std::vector<std::string>& warnings) {
  const Machine machine = chosen_machine(progress, quiet, kStoredMachine, warnings);
  const KnownDevices known = known_devices(arguments.devices);
  return {find_device(known.devices, arguments.device),
          cached_or_measured_calibration(machine, warnings, {}, &progress)};
}

// A model that is quantised keeps its layers, whatever precision is asked for.
void keep_quantized(const Graph& graph, OptimizePlan& plan, std::vector<std::string>& warnings) {
  if (!is_quantized(graph)) return;
  warnings.emplace_back("the model is quantised already: its precision is kept as it is");
  if (plan.options.precision) plan.options.precision = VariantPrecision::AsStored;
}

void note_untried(const OptimizePlan& plan, const OptimizeData& data,
                  std::vector<std::string>& warnings) {
  const bool searches = (plan.has_target() || plan.max_loss) && !plan.options.precision;
  if (!searches || data.calibration.batches > 0) return;
  warnings.emplace_back(
      "int8 was not tried, it needs data to calibrate with: --calibrate FOLDER, "
      "--dataset NAME or --calibrate random");
}

std::vector<LayerSensitivity> measured_sensitivity(const Graph& graph, const OptimizeData& data,
                                                   const OptimizeOptions& options,
                                                   Progress& progress) {
  QuantizeOptions quantization = options.quantization;
  quantization.program.cpu = options.program.cpu;
  quantization.program.optimize_for = OptimizeFor::Memory;  // nothing is timed
  return measure_sensitivity(graph, data.calibration, quantization, &progress);
}

void describe_choices(const OptimizeArguments& arguments, const OptimizePlan& plan,
                      OptimizeReport& report) {
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) report.choices.emplace_back(key, value);
  };
  add("target_ms", arguments.target_ms);
  add("target_mb", arguments.target_mb);
  add("calibration", std::string(name(plan.options.quantization.calibration)));
  add("per_channel", plan.options.quantization.per_channel ? "true" : "false");
  add("equalize", plan.options.quantization.equalize ? "true" : "false");
  add("criterion", arguments.criterion);
  add("ranking", arguments.ranking);
  add("measured_widths", plan.options.measures_widths ? "true" : "false");
  add("round_to", fmt::format("{}", plan.options.pruning.round_to));
  if (plan.options.finetune_epochs > 0) {
    add("finetune_epochs", fmt::format("{}", plan.options.finetune_epochs));
    const auto& rate = plan.options.finetune_rate;
    add("finetune_rate", rate ? fmt::format("{}", *rate) : "by trial");
  }
  add("seed", fmt::format("{}", plan.options.seed));
}

// The model and everything known before the search.
OptimizeReport report_for(const OptimizeArguments& arguments, const OptimizePlan& plan,
                          const RequestedModel& request) {
  OptimizeReport report{.model = model_summary(request.graph, arguments.model.model)};
  if (!is_zoo_name(arguments.model.model))
    report.model.sha256 = sha256_of_file(arguments.model.model);
  report.power_watts = plan.power_watts;
  report.device = arguments.device;
  report.target_share = plan.target_ms.share;
  report.threads = threads_of(plan.options.program);
  report.batch = request.run.bindings.batch.value_or(1);
  describe_choices(arguments, plan, report);
  return report;
}

// The model, how to run it and what to do with it.
struct OptimizeRequest {
  OptimizePlan plan = {};
  RequestedModel model = {};
  EngineArguments engine = {};  // for the original and all versions
};

OptimizeRequest request_of(const OptimizeArguments& arguments) {
  OptimizeRequest request{.plan = plan_of(arguments)};
  ModelArguments model = arguments.model;
  model.weights.clear();
  request.model = requested_model(model);
  request.engine = arguments.engine;
  request.engine.precision.clear();
  return request;
}

void apply_run_options(OptimizeRequest& request) {
  RunOptions& run = request.model.run;
  apply_engine_options(request.engine, run);
  request.plan.options.program = run.program;
  request.plan.options.seed = run.seed;
  request.plan.options.bindings = run.bindings;
}

OptimizeData data_for(const OptimizeArguments& arguments, const OptimizeRequest& request,
                      OptimizeReport& report) {
  OptimizeData data = naming_model(arguments.model.model, [&] {
    return requested_data(arguments.data, request.model, request.plan.options.seed);
  });
  check_data(request.plan, arguments, data);
  report.calibrated_on = data.calibration.source;
  report.judged_on = data.judged_on;
  report.warnings.insert(report.warnings.end(), data.warnings.begin(), data.warnings.end());
  note_untried(request.plan, data, report.warnings);
  return data;
}

// --- the search

VersionSearch version_search(const OptimizeArguments& arguments, const OptimizeRequest& request) {
  ModelArguments shapes = arguments.model;
  shapes.model.clear();
  shapes.weights.clear();
  const OptimizePlan& plan = request.plan;
  return {.processes = processes_of({{arguments.model.model, shapes, request.engine},
                                     {arguments.output, shapes, request.engine}}),
          .comparison = plan.comparison,
          .goal = [&plan](const OptimizeTrial& original) { return plan.goal(original); },
          .target_share = plan.target_ms.share};
}

void note_result(const OptimizePlan& plan, OptimizeReport& report) {
  if (report.result.best().recipe.precision == VariantPrecision::BFloat16) {
    report.warnings.emplace_back(
        "ONNX Runtime has no bf16 convolutions on processors, and ONNX none before opset 22: "
        "this file is for assay");
  }
  if (plan.only_tidies && !report.result.best().recipe.tidy) {
    report.warnings.emplace_back("the model is tidy already: there is nothing to remove");
  }
  for (const auto& texts : {report.result.warnings, advice_on_target(report, plan)}) {
    report.warnings.insert(report.warnings.end(), texts.begin(), texts.end());
  }
}

void search(const OptimizeArguments& arguments, const OptimizeRequest& request, OptimizeData data,
            OptimizeReport& report, Progress& progress) {
  ModelOptimizer optimizer(request.model.graph, std::move(data), request.plan.options);
  search_and_confirm(version_search(arguments, request), optimizer, report, progress);
  if (report.met && !report.result.chosen) {
    report.written = write_version(report.result.model, arguments.output);
  }
  note_result(request.plan, report);
}

// --- after the search

Exit exit_of(const OptimizeReport& report) {
  const bool has_goal = report.goal.has_target() || report.goal.max_loss;
  if (report.result.interrupted) {
    print_interrupted(report.written.path.empty() ? "no version was better so far"
                                                  : "the best version so far is written");
    return Exit::Interrupted;
  }
  if (!has_goal || report.met) return Exit::Fine;
  print_error(report.written.path.empty()
                  ? "the target is not met, and no version is better than the original: nothing is "
                    "written"
                  : "the target is not met; the best version found is written");
  return Exit::GateFailed;
}

void print_report(const OptimizeArguments& arguments, const OptimizeReport& report, bool quiet) {
  print_data(formatted(
      arguments.format, [&](const Layout& layout) { return optimize_table(report, layout); },
      [&] { return optimize_json(report); }, [&] { return optimize_csv(report); }));
  print_warnings(report.warnings, quiet);
}

Exit run_optimize(const OptimizeArguments& arguments, bool quiet) {
  OptimizeRequest request = request_of(arguments);
  check_outputs(arguments);
  PageFile page(arguments.html);
  catch_interrupts();
  keep_freed_memory();
  const SharedTuning tuning(request.engine);
  apply_run_options(request);
  OptimizePlan& plan = request.plan;
  check_loss(plan, gives_data(arguments.data, request.model));
  OptimizeReport report = report_for(arguments, plan, request.model);
  keep_quantized(request.model.graph, plan, report.warnings);
  OptimizeData data = data_for(arguments, request, report);
  ProgressBar progress(quiet);
  if (!arguments.device.empty()) {
    plan.options.device = target_device(arguments, quiet, progress, report.warnings);
  }
  if (arguments.sensitivity) {
    report.sensitivities = measured_sensitivity(request.model.graph, data, plan.options, progress);
  }
  naming_model(arguments.model.model,
               [&] { search(arguments, request, std::move(data), report, progress); });
  use_flags(report.warnings);
  write_record(report);
  write_artifacts(arguments, report);
  page.write("optimize.json", [&] { return optimize_json(report); });
  print_report(arguments, report, quiet);
  return exit_of(report);
}

}  // namespace

void add_optimize(CommandLine& program) {
  auto arguments = std::make_shared<OptimizeArguments>();
  Command* optimize = program.app.add_subcommand(
      "optimize", "Write a pruned or lower-precision version that meets a target");
  add_optimize_options(*optimize, *arguments);
  optimize->footer(kOptimizeExamples);
  optimize->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_optimize(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
