// assay optimize: writes a smaller or faster version of a model, made as told or searched for.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "assay/device_list.h"
#include "assay/onnx.h"
#include "assay/optimize_report.h"
#include "assay/stored_calibration.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device_options.h"
#include "cli/duel.h"
#include "cli/flags.h"
#include "cli/machine_choice.h"
#include "cli/model_argument.h"
#include "cli/optimize_data.h"
#include "cli/output_format.h"

namespace assay::cli {

namespace {

struct OptimizeArguments {
  ModelArguments model;
  EngineArguments engine;  // its precision is that of the version
  OptimizeDataArguments data;
  DeviceArguments devices;
  std::string output;
  std::string prune;
  std::string criterion = "l1";
  std::string ranking = "uniform";
  std::string round_to;
  bool measured_widths = false;
  bool allow_bf16 = false;
  std::string calibration_method;
  std::string percentile;
  bool per_tensor = false;
  bool equalize = false;
  std::string finetune;
  std::string finetune_rate;
  std::string max_loss;
  std::string target_ms;
  std::string target_mb;
  std::string device;
  std::string power_watts;
  std::string max_time;
  std::string out;
  bool sensitivity = false;
  OutputFormat format;
};

constexpr const char* kOptimizeExamples = R"(Examples:
  assay optimize model.onnx -o half.onnx --precision bf16
  assay optimize model.onnx -o int8.onnx --precision int8 --calibrate images/
  assay optimize trained.onnx -o small.onnx --dataset fashion-mnist --target-ms 50% --max-loss 0.5
  assay optimize trained.onnx -o small.onnx --dataset fashion-mnist --prune 0.5 --finetune 2
  assay optimize model.onnx -o pi.onnx --calibrate images/ --target-ms 30 --device raspberry-pi-4-4gb
  assay optimize zoo:resnet18 -o out.onnx --target-mb 20 --calibrate random
  assay optimize model.onnx -o int8.onnx --precision int8 --calibrate images/ --sensitivity
With a target, versions are tried from small changes to large ones: half precision, 8 bits, then
pruning; the first that meets it is written. FILE.onnx.json beside it tells how it was made. Exit
code 1: no version meets the target, and the best one found is written.)";

// A figure, or a share of the original's.
struct TargetArgument {
  std::optional<double> number = {};
  std::optional<double> share = {};

  bool is_given() const { return number || share; }
  std::optional<double> of(double original) const {
    return share ? std::optional(*share * original) : number;
  }
};

TargetArgument parse_target(const char* flag, const std::string& text) {
  if (text.empty()) return {};
  if (!text.ends_with('%')) return {.number = parse_decimal(flag, text, 1e-9)};
  return {.share = parse_decimal(flag, text.substr(0, text.size() - 1), 1e-9) / 100};
}

struct OptimizePlan {
  TargetArgument target_ms;
  TargetArgument target_mb;
  std::optional<double> max_loss;
  double power_watts = 5;
  ComparisonOptions comparison = {};
  OptimizeOptions options = {};

  bool has_target() const { return target_ms.is_given() || target_mb.is_given(); }
  OptimizeGoal goal(const OptimizeTrial& original) const {
    const VariantCost& cost = *original.cost;
    const double latency_ms =
        cost.on_device ? cost.on_device->estimate_ms.value_or(0) : cost.latency.median_ms;
    return {target_ms.of(latency_ms), target_mb.of(cost.memory_mb), max_loss};
  }
};

// --- what was asked for

std::optional<VariantPrecision> asked_precision(const OptimizeArguments& arguments) {
  const std::string& precision = arguments.engine.precision;
  const std::string& weights = arguments.model.weights;
  if (!precision.empty() && !weights.empty()) {
    fail_usage("--precision {} and --weights {} exclude each other", precision, weights);
  }
  if (!weights.empty() && weights != "int8" && weights != "int4") {
    fail_usage("--weights {}: expected int8 or int4", weights);
  }
  if (!weights.empty()) return variant_precision_named("weights-" + weights);
  if (precision.empty()) return {};
  return variant_precision_named(precision);
}

void check_something_to_do(const OptimizePlan& plan) {
  const OptimizeOptions& options = plan.options;
  if (options.prune || options.precision || plan.has_target() || plan.max_loss) return;
  fail_usage(
      "nothing to do: give --precision, --weights or --prune, or a goal to search for: "
      "--target-ms, --target-mb or --max-loss");
}

double parse_level(const std::string& text) {
  const double level = parse_decimal("--prune", text, 0);
  if (level >= 1) fail_usage("--prune {}: expected a share from 0 to below 1", text);
  return level;
}

// A search rounds widths to whole vector registers. If the user gives a level, exactly that level
// is pruned.
std::int64_t usual_rounding(const OptimizeArguments& arguments) {
  constexpr std::int64_t kVector = 16;
  return arguments.prune.empty() ? kVector : 1;
}

PruneOptions pruning_of(const OptimizeArguments& arguments) {
  return {.criterion = prune_criterion_named(arguments.criterion),
          .ranking = prune_ranking_named(arguments.ranking),
          .round_to = count_or("--round-to", arguments.round_to, usual_rounding(arguments))};
}

QuantizeOptions quantization_of(const OptimizeArguments& arguments) {
  QuantizeOptions options{.per_channel = !arguments.per_tensor, .equalize = arguments.equalize};
  if (!arguments.calibration_method.empty()) {
    options.calibration = calibration_method(arguments.calibration_method);
  }
  if (!arguments.percentile.empty()) {
    options.percentile = parse_decimal("--percentile", arguments.percentile, 50, 100);
  }
  return options;
}

OptimizePlan plan_of(const OptimizeArguments& arguments) {
  OptimizePlan plan;
  plan.target_ms = parse_target("--target-ms", arguments.target_ms);
  plan.target_mb = parse_target("--target-mb", arguments.target_mb);
  if (!arguments.max_loss.empty()) {
    plan.max_loss = parse_decimal("--max-loss", arguments.max_loss, 0, 100);
  }
  if (!arguments.power_watts.empty()) {
    plan.power_watts = parse_decimal("--power-watts", arguments.power_watts, 1e-9);
  }
  if (!arguments.max_time.empty()) {
    plan.comparison.max_seconds = parse_decimal("--max-time", arguments.max_time, 0.1);
  }
  // Of the time for the last comparison, by default 0.3 to 3 seconds for each version.
  plan.options.timing.min_seconds = plan.comparison.max_seconds / 200;
  plan.options.timing.max_seconds = plan.comparison.max_seconds / 20;
  if (!arguments.prune.empty()) plan.options.prune = parse_level(arguments.prune);
  plan.options.pruning = pruning_of(arguments);
  plan.options.searches_bfloat16 = arguments.allow_bf16;
  plan.options.measures_widths = arguments.measured_widths;
  plan.options.quantization = quantization_of(arguments);
  plan.options.precision = asked_precision(arguments);
  plan.options.finetune_epochs = count_or("--finetune", arguments.finetune, 0);
  if (!arguments.finetune_rate.empty()) {
    plan.options.finetune_rate = parse_decimal("--finetune-lr", arguments.finetune_rate, 1e-12);
  }
  check_something_to_do(plan);
  return plan;
}

// --- checks before any work

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  return std::filesystem::equivalent(a, b, failed) && !failed;
}

std::string record_path(const std::string& output) {
  return output + ".json";
}

// Not after minutes of searching.
void check_outputs(const OptimizeArguments& arguments) {
  if (is_same_file(arguments.output, arguments.model.model)) {
    fail_usage("-o {} is the model itself; write to another file", arguments.output);
  }
  try {
    AtomicFile probe(arguments.output);
    AtomicFile beside(record_path(arguments.output));
  } catch (const Error& error) {
    fail_bad_input("{}; choose another place with -o", error.what());
  }
  if (!arguments.out.empty()) make_folder(arguments.out);
}

void check_calibration(const OptimizePlan& plan, const OptimizeData& data) {
  if (plan.options.precision != VariantPrecision::Int8 || data.calibration.batches > 0) return;
  fail_usage(
      "--precision int8 needs data to calibrate with: --calibrate FOLDER of .npy files, or "
      "--dataset NAME; --calibrate random takes seeded inputs, whose ranges are not those of "
      "real data");
}

void check_loss(const OptimizePlan& plan, bool has_data) {
  if (!plan.max_loss || has_data) return;
  fail_usage(
      "--max-loss needs data to measure the loss on: --dataset NAME for accuracy, --calibrate "
      "FOLDER or --input NAME=x.npy for agreement with the original; --calibrate random takes "
      "seeded inputs");
}

void check_finetuning(const OptimizePlan& plan, const OptimizeData& data) {
  if (plan.options.finetune_epochs == 0) return;
  if (!data.training) fail_usage("--finetune needs labels: give --dataset NAME");
  if (plan.options.prune == 0.0) fail_usage("--finetune requires --prune or a target");
}

void check_activity(const OptimizePlan& plan, const OptimizeData& data) {
  const bool needs_data = plan.options.pruning.criterion == PruneCriterion::Activation;
  if (!needs_data || data.calibration.batches > 0) return;
  fail_usage(
      "--criterion activation needs data to observe: --calibrate FOLDER, --dataset NAME or "
      "--calibrate random");
}

void check_sensitivity(const OptimizeArguments& arguments, const OptimizeData& data) {
  if (!arguments.sensitivity || data.calibration.batches > 0) return;
  fail_usage(
      "--sensitivity needs data to calibrate with: --calibrate FOLDER, --dataset NAME or "
      "--calibrate random");
}

// --- the work

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

class Optimization {
 public:
  Optimization(const OptimizeArguments& arguments, OptimizePlan plan, OptimizeReport& report,
               Progress& progress)
      : arguments_(arguments), plan_(std::move(plan)), report_(report), progress_(progress) {}

  void run(const Graph& graph, OptimizeData data, const EngineArguments& engine) {
    ModelOptimizer optimizer(graph, std::move(data), plan_.options);
    report_.goal = plan_.goal(optimizer.original(&progress_));
    // The search measures within one process, but fresh processes in turns decide. So the search
    // aims a little below the target, and again if that was not enough.
    constexpr int kRounds = 4;
    double aim = 0.98;
    for (int round = 0; round < kRounds; ++round) {
      search(optimizer, aim);
      if (report_.result.chosen) compare(engine);
      report_.met = is_met();
      const bool was_close = report_.result.met && !report_.met;
      if (!was_close || report_.result.interrupted) break;
      aim *= 0.95 / std::max(1.0, misjudged());
    }
    if (report_.result.best().recipe.precision == VariantPrecision::BFloat16) {
      report_.warnings.emplace_back(
          "ONNX Runtime has no bf16 convolutions on processors, and ONNX none before opset 22: "
          "this "
          "file is for assay");
    }
    const auto& warnings = report_.result.warnings;
    report_.warnings.insert(report_.warnings.end(), warnings.begin(), warnings.end());
    if (report_.result.met && !report_.result.chosen) write();
  }

  void write_record() {
    if (report_.written.path.empty()) return;
    report_.written.record = record_path(arguments_.output);
    report_.scales = tensor_scales(report_.result.model);
    write_file(report_.written.record, optimize_record_json(report_));
  }

 private:
  void search(ModelOptimizer& optimizer, double aim) {
    OptimizeGoal goal = report_.goal;
    if (goal.target_ms && report_.device.empty()) *goal.target_ms *= aim;
    report_.result = optimizer.search(goal, &progress_);
  }

  // The latency in fresh processes over the one that the search saw, relative to the original's if
  // the target is.
  double misjudged() const {
    const Comparison& fresh = report_.comparison->result;
    const double seen_ms = report_.result.best().cost->latency.median_ms;
    if (!plan_.target_ms.share) return fresh.median_b / seen_ms;
    return fresh.ratio / (seen_ms / report_.result.original.cost->latency.median_ms);
  }

  void write() {
    const std::string& path = arguments_.output;
    write_onnx(infer_shapes(report_.result.model).graph, path);
    report_.written.path = path;
    report_.written.sha256 = sha256_of_file(path);
    report_.written.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  }

  void compare(const EngineArguments& engine) {
    write();
    ComparedModels models{arguments_.model.model, arguments_.output, arguments_.model, engine};
    models.shapes.model.clear();
    models.shapes.weights.clear();
    models.engine.precision.clear();
    try {
      report_.comparison = run_in_turns(models, plan_.comparison, progress_);
      report_.result.interrupted |= report_.comparison->interrupted;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Cancelled) throw;
      report_.result.interrupted = true;
    }
  }

  bool is_met() const {
    if (!report_.result.met || !report_.comparison || !report_.device.empty()) {
      return report_.result.met;
    }
    const Comparison& result = report_.comparison->result;
    if (plan_.target_ms.share) return result.ratio <= *plan_.target_ms.share;
    return !plan_.target_ms.number || result.median_b <= *plan_.target_ms.number;
  }

  const OptimizeArguments& arguments_;
  OptimizePlan plan_;
  OptimizeReport& report_;
  Progress& progress_;
};

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
    add("finetune_rate", fmt::format("{}", plan.options.finetune_rate));
  }
  add("seed", fmt::format("{}", plan.options.seed));
}

Exit exit_of(const OptimizeReport& report) {
  const bool has_goal = report.goal.has_target() || report.goal.max_loss;
  if (report.result.interrupted) {
    print_error(report.written.path.empty() ? "interrupted before any version was better"
                                            : "interrupted: the best version so far is written");
    return Exit::Interrupted;
  }
  if (!has_goal || report.met) return Exit::Fine;
  print_error(report.written.path.empty()
                  ? "the target is not met, and no version is better than the original: nothing is "
                    "written"
                  : "the target is not met; the best version found is written");
  return Exit::GateFailed;
}

// Beside the model, if no folder is named.
void write_sensitivity(const OptimizeArguments& arguments, const OptimizeReport& report) {
  if (report.sensitivities.empty()) return;
  const std::string base =
      arguments.out.empty() ? arguments.output + ".sensitivity" : arguments.out + "/sensitivity";
  write_file(base + ".csv", sensitivity_csv(report.sensitivities));
  write_file(base + ".png", sensitivity_png(report.sensitivities));
}

void write_artifacts(const std::string& folder, const OptimizeReport& report) {
  if (folder.empty()) return;
  const std::filesystem::path path(folder);
  write_file(path / "optimize.json", optimize_json(report));
  write_file(path / "optimize_trail.csv", optimize_csv(report));
}

void print_report(const OptimizeArguments& arguments, const OptimizeReport& report, bool quiet) {
  print_data(formatted(
      arguments.format, [&] { return optimize_table(report); },
      [&] { return optimize_json(report); }, [&] { return optimize_csv(report); }));
  print_warnings(report.warnings, quiet);
}

// The model and everything known before the search.
OptimizeReport report_for(const OptimizeArguments& arguments, const OptimizePlan& plan,
                          const RequestedModel& request) {
  OptimizeReport report{.model = model_summary(request.graph, arguments.model.model)};
  if (!is_zoo(arguments.model.model)) report.model.sha256 = sha256_of_file(arguments.model.model);
  report.power_watts = plan.power_watts;
  report.device = arguments.device;
  report.threads = threads_of(plan.options.program);
  report.batch = request.run.bindings.batch.value_or(1);
  describe_choices(arguments, plan, report);
  return report;
}

Exit run_optimize(OptimizeArguments arguments, bool quiet) {
  OptimizePlan plan = plan_of(arguments);
  ModelArguments without_weights = arguments.model;
  without_weights.weights.clear();
  RequestedModel request = requested_model(without_weights);
  check_outputs(arguments);
  EngineArguments engine = arguments.engine;
  engine.precision.clear();
  catch_interrupts();
  const SharedTuning tuning(engine);
  apply_engine_options(engine, request.run);
  plan.options.program = request.run.program;
  plan.options.seed = request.run.seed;
  plan.options.bindings = request.run.bindings;
  check_loss(plan, gives_data(arguments.data, request));
  OptimizeReport report = report_for(arguments, plan, request);
  keep_quantized(request.graph, plan, report.warnings);
  OptimizeData data = naming_model(arguments.model.model, [&] {
    return requested_data(arguments.data, request, plan.options.seed);
  });
  check_calibration(plan, data);
  check_finetuning(plan, data);
  check_sensitivity(arguments, data);
  check_activity(plan, data);
  report.calibrated_on = data.calibration.source;
  report.judged_on = data.judged_on;
  report.warnings.insert(report.warnings.end(), data.warnings.begin(), data.warnings.end());
  note_untried(plan, data, report.warnings);
  ProgressBar progress(quiet);
  if (!arguments.device.empty()) {
    plan.options.device = target_device(arguments, quiet, progress, report.warnings);
  }
  if (arguments.sensitivity) {
    report.sensitivities = measured_sensitivity(request.graph, data, plan.options, progress);
  }
  Optimization work(arguments, plan, report, progress);
  naming_model(arguments.model.model, [&] { work.run(request.graph, std::move(data), engine); });
  use_flags(report.warnings);
  work.write_record();
  write_sensitivity(arguments, report);
  write_artifacts(arguments.out, report);
  print_report(arguments, report, quiet);
  return exit_of(report);
}

// --- options

void add_version_options(Command& command, OptimizeArguments& arguments) {
  command.add_option("--precision", arguments.engine.precision,
                     "fp32, fp16, bf16, int8 (calibrated) or dynamic; default: searched if there "
                     "is a target, else unchanged");
  command.add_flag("--allow-bf16", arguments.allow_bf16,
                   "search bf16 too, which ONNX Runtime does not run on processors");
  command.add_option("--prune", arguments.prune,
                     "remove this share of the channels, from 0 to below 1");
  command.add_option("--criterion", arguments.criterion,
                     "what makes a channel important: l1 (default), l2, batch-norm or activation");
  command.add_option("--ranking", arguments.ranking,
                     "uniform (default): every group loses the same share; or global");
  command.add_option("--round-to", arguments.round_to,
                     "keep multiples of N channels; default 16 in a search, else 1");
  command.add_flag("--measured-widths", arguments.measured_widths,
                   "keep widths that this machine rewards: each group is timed at several");
  command.add_option("--calibration", arguments.calibration_method,
                     "how ranges follow from the data: minmax (default), percentile, mse or "
                     "entropy");
  command.add_option("--percentile", arguments.percentile,
                     "share of the numbers that a range holds, for --calibration percentile; "
                     "default 99.99");
  command.add_flag("--per-tensor", arguments.per_tensor,
                   "one scale for a whole weight instead of one for each channel");
  command.add_flag("--equalize", arguments.equalize,
                   "equalise the ranges of neighbouring layers before quantising");
  command.add_option("--finetune", arguments.finetune,
                     "train a pruned version for N epochs on --dataset");
  command.add_option("--finetune-lr", arguments.finetune_rate,
                     "learning rate of fine-tuning; default 0.0005");
}

void add_goal_options(Command& command, OptimizeArguments& arguments) {
  command.add_option("--target-ms", arguments.target_ms,
                     "search for a version with this latency: 12.5, or 50% of the original's");
  command.add_option("--target-mb", arguments.target_mb,
                     "search for a version with stored tensors of at most this size, in MB or %");
  command.add_option("--max-loss", arguments.max_loss,
                     "lose at most this many percentage points of accuracy, or without labels of "
                     "agreement with the original");
  command.add_option("--device", arguments.device,
                     "--target-ms is for this device, as 'assay fit' predicts it");
  add_device_options(command, arguments.devices);
}

}  // namespace

void add_optimize(CommandLine& program) {
  auto arguments = std::make_shared<OptimizeArguments>();
  Command* optimize = program.app.add_subcommand(
      "optimize", "Write a pruned or lower-precision version that meets a target");
  add_model_options(*optimize, arguments->model);
  optimize->add_option("-o,--output", arguments->output, "write the version to FILE.onnx")
      ->required();
  add_version_options(*optimize, *arguments);
  add_goal_options(*optimize, *arguments);
  add_optimize_data_options(*optimize, arguments->data);
  add_engine_options(*optimize, arguments->engine);
  optimize->add_option("--power-watts", arguments->power_watts,
                       "energy_proxy_j is this power × latency; default 5");
  optimize->add_option("--max-time", arguments->max_time,
                       "stop the last comparison with the original after N seconds, and time each "
                       "version tried for a twentieth of that; default 60");
  optimize->add_flag("--sensitivity", arguments->sensitivity,
                     "show what int8 in each layer alone loses, as a table and a picture beside "
                     "the model");
  optimize->add_option("--out", arguments->out, "write tables and pictures into this folder");
  add_output_format(*optimize, arguments->format, "print the versions tried as CSV");
  optimize->footer(kOptimizeExamples);
  optimize->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_optimize(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
