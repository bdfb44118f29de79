// assay train: trains a model on a data set and writes it.
#include <algorithm>
#include <memory>

#include "assay/onnx.h"
#include "assay/train_report.h"
#include "assay/training_data.h"
#include "base/atomic_file.h"
#include "base/cache_file.h"
#include "base/fail.h"
#include "base/heap.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/data_options.h"
#include "cli/engine_options.h"
#include "cli/flags.h"
#include "cli/model_argument.h"
#include "cli/output_format.h"
#include "cli/page.h"
#include "cli/training_progress.h"

namespace assay::cli {

namespace {

struct TrainArguments {
  std::string model;
  DataArguments data;
  std::string epochs;
  std::string rate;
  std::string batch;
  std::string optimizer = "adam";
  std::string loss = "cross-entropy";
  std::string momentum;
  std::string weight_decay;
  std::string schedule = "constant";
  std::string train_subset;
  std::string early_stop;
  std::string checkpoint;
  std::string output;
  EngineArguments engine = {};
  std::string accumulate = {};
  std::string recompute = {};
  bool no_shuffle = false;
  bool resume = false;
  bool evaluate_only = false;
  bool confusion = false;
  OutputFormat format;
  std::string html;
};

constexpr const char* kTrainExamples = R"(Examples:
  assay train zoo:small_cnn --dataset fashion-mnist -o trained.onnx   one epoch of Adam
  assay train model.onnx --dataset data.npz --epochs 20 --early-stop 3 -o best.onnx
  assay train zoo:lenet5 --dataset mnist --dataset-folder ~/mnist --optimizer momentum --lr 0.05
  assay train model.onnx --dataset x.npy,y.npy --epochs 50 --checkpoint run.npz -o out.onnx
  assay train model.onnx --dataset x.npy,y.npy --epochs 50 --checkpoint run.npz --resume -o out.onnx
  assay train trained.onnx --dataset fashion-mnist --evaluate-only --confusion
Ctrl-C stops after the current step; --checkpoint and --resume continue after the last epoch.)";

// Common first choices: SGD needs larger steps than Adam.
double usual_rate(OptimizerKind kind) {
  return states_of(kind) == 2 ? 0.001 : 0.01;
}

// Results are bit-identical only if the same algorithms are chosen again, so the choices are
// stored. If no file can store them, oneDNN's own choice is used.
EngineArguments with_memory(EngineArguments engine) {
  if (!engine.tuning.empty() || !chooses_algorithms(engine)) return engine;
  const auto path = cache_path("tuning", "training");
  try {
    if (path) make_folder(std::filesystem::path(*path).parent_path());
    engine.tuning = path.value_or("");
  } catch (const Error&) {
    engine.tuning.clear();
  }
  if (engine.tuning.empty()) engine.optimize_for = name(OptimizeFor::Memory);
  return engine;
}

TrainOptions train_options(const TrainArguments& arguments) {
  TrainOptions options;
  options.epochs = count_or("--epochs", arguments.epochs, options.epochs);
  options.batch_size = count_or("--batch", arguments.batch, options.batch_size);
  options.patience = count_or("--early-stop", arguments.early_stop, 0);
  options.optimizer.kind = optimizer_named(arguments.optimizer);
  options.loss = loss_named(arguments.loss);
  options.schedule = schedule_named(arguments.schedule);
  options.learning_rate = arguments.rate.empty() ? usual_rate(options.optimizer.kind)
                                                 : parse_decimal("--lr", arguments.rate, 0);
  if (!arguments.momentum.empty()) {
    options.optimizer.momentum = parse_decimal("--momentum", arguments.momentum, 0);
  }
  if (!arguments.weight_decay.empty()) {
    options.optimizer.weight_decay = parse_decimal("--weight-decay", arguments.weight_decay, 0);
  }
  options.checkpoint = arguments.checkpoint;
  options.resume = arguments.resume;
  options.shuffle = !arguments.no_shuffle;
  options.accumulate = count_or("--accumulate", arguments.accumulate, 1);
  options.pieces = static_cast<std::size_t>(count_or("--recompute", arguments.recompute, 1));
  RunOptions engine;
  apply_engine_options(with_memory(arguments.engine), engine);
  choose_threads(arguments.engine, engine.program);
  options.program = engine.program;
  options.seed = engine.seed;
  check_train_options(options, true);
  return options;
}

TrainingData load_data(const TrainArguments& arguments, const Graph& graph, std::uint64_t seed) {
  TrainingDataOptions options = {
      .folder = arguments.data.folder,
      .training_samples = count_or("--train-subset", arguments.train_subset, 0),
      .validation_samples = validation_count(arguments.data),
      .seed = seed};
  options.sample_dims = sample_dims_of(graph, options.sample_dims);
  return load_training_data(arguments.data.dataset, options);
}

// Checked before training, not after hours of it.
void check_writable(const TrainArguments& arguments) {
  if (!arguments.output.empty() && arguments.output == arguments.checkpoint) {
    fail_usage("-o and --checkpoint both name {}", arguments.output);
  }
  for (const std::string& path : {arguments.output, arguments.checkpoint}) {
    if (!path.empty()) AtomicFile probe(path);
  }
}

// With inferred types and shapes: other tools need those of the outputs.
void write_model(const Graph& model, const std::string& path, Progress& progress) {
  write_onnx(infer_shapes(model).graph, path, {}, &progress);
}

void train(const TrainArguments& arguments, const TrainingData& data, const Graph& graph,
           TrainingProgress& progress, TrainReport& report) {
  report.result = train_model(graph, data.training, &data.validation, report.options, &progress);
  if (arguments.output.empty()) {
    report.result.warnings.emplace_back("the trained model is discarded; -o FILE.onnx writes it");
    return;
  }
  write_model(report.result.model, arguments.output, progress);
  report.file = arguments.output;
}

Evaluation judged(const Graph& model, const TrainingData& data, const TrainOptions& options,
                  bool confusion, Progress& progress) {
  const std::int64_t batch_size = std::min(options.batch_size, data.validation.size());
  const Loader loader(data.validation, {.batch_size = batch_size, .shuffle = false});
  return evaluate(model, loader,
                  {.loss = options.loss, .confusion = confusion, .program = options.program},
                  &progress);
}

// A page shows the confusion matrix without being asked.
TrainReport with_confusion(TrainReport report, const TrainingData& data, Progress& progress) {
  const bool is_there = report.evaluation && !report.evaluation->confusion.empty();
  if (is_there) return report;
  report.evaluation = judged(report.result.model, data, report.options, true, progress);
  return report;
}

Exit run_train(const TrainArguments& arguments, bool quiet) {
  TrainReport report = {.options = train_options(arguments)};
  check_writable(arguments);
  Graph graph = load_model(arguments.model);
  const TrainingData data = load_data(arguments, graph, report.options.seed);
  report.model = model_summary(graph, arguments.model);
  report.dataset = trained_on(data.training, &data.validation);
  PageFile page(arguments.html);
  catch_interrupts();
  keep_freed_memory();
  TrainingProgress progress(report.options.epochs, quiet);
  if (arguments.evaluate_only) {
    report.result.model = std::move(graph);
  } else {
    train(arguments, data, graph, progress, report);
  }
  if (arguments.evaluate_only || arguments.confusion) {
    report.evaluation =
        judged(report.result.model, data, report.options, arguments.confusion, progress);
  }
  auto& warnings = report.result.warnings;
  warnings.insert(warnings.begin(), data.warnings.begin(), data.warnings.end());
  use_flags(warnings);
  page.write("train.json", [&] { return train_json(with_confusion(report, data, progress)); });
  print_data(formatted(
      arguments.format, [&](const Layout& layout) { return train_table(report, layout); },
      [&] { return train_json(report); }, [&] { return train_csv(report); }));
  print_warnings(warnings, quiet);
  return Exit::Fine;
}

void add_training_options(Command& train, TrainArguments& arguments) {
  train.heading("Training");
  train.add_option("--epochs N", arguments.epochs, "passes over the data; default 1");
  train.add_option("--batch N", arguments.batch, "samples per step; default 64");
  train.add_option("--optimizer NAME", arguments.optimizer,
                   "sgd, momentum, adam (default) or adamw");
  train.add_option("--lr X", arguments.rate,
                   "learning rate; default 0.001, or 0.01 for sgd and momentum");
  train.add_option("--schedule NAME", arguments.schedule,
                   "learning-rate schedule: constant (default) or cosine");
  train.add_option("--momentum X", arguments.momentum, "coefficient of momentum; default 0.9");
  train.add_option("--weight-decay X", arguments.weight_decay, "weight decay; default 0");
  train.add_option("--loss NAME", arguments.loss, "cross-entropy (default) or mean-squared-error");
  train.add_option("--early-stop N", arguments.early_stop,
                   "stop after N epochs without a lower validation loss, and use the best epoch");
  train.add_option("--seed N", arguments.engine.seed, "seed of the sample order; default 0");
}

void add_sample_options(Command& train, TrainArguments& arguments) {
  add_data_options(train, arguments.data)->required();
  train.add_option("--train-subset N", arguments.train_subset,
                   "train on N samples drawn at random");
  train.add_flag("--no-shuffle", arguments.no_shuffle,
                 "use the stored order of samples in every epoch");
}

void add_running_options(Command& train, TrainArguments& arguments) {
  train.heading("Engine");
  train.add_option("--threads N", arguments.engine.threads, kChosenThreadsHelp);
  train.add_flag("--no-pin", arguments.engine.no_pin, "do not pin threads to processors");
  train.add_option("--engine NAME", arguments.engine.engine, engine_help());
  train.add_option("--optimize-for GOAL", arguments.engine.optimize_for,
                   "latency (default): algorithms are chosen by timing them once, and stored; or "
                   "memory");
  train.add_option("--tuning FILE", arguments.engine.tuning,
                   "store the chosen algorithms in FILE instead of the cache folder");
  train.add_option("--accumulate N", arguments.accumulate,
                   "split a batch into N parts and accumulate their gradients: less memory");
  train.add_option("--recompute N", arguments.recompute,
                   "split the forward pass into N segments and recompute their activations in the "
                   "backward pass: less memory, more time");
  train.heading("Output");
  auto* checkpoint = train.add_option("--checkpoint FILE", arguments.checkpoint,
                                      "write a checkpoint to FILE after every epoch");
  train.add_flag("--resume", arguments.resume, "continue from --checkpoint, if the file exists");
  auto* output = train.add_option("-o,--output FILE", arguments.output,
                                  "write the trained model to FILE.onnx");
  train.add_flag("--evaluate-only", arguments.evaluate_only, "evaluate the model without training")
      ->excludes(output)
      ->excludes(checkpoint);
  train.add_flag("--confusion", arguments.confusion, "print the confusion matrix");
  add_output_format(train, arguments.format, "print the epochs as CSV");
  add_page_option(train, arguments.html);
}

}  // namespace

void add_train(CommandLine& program) {
  auto arguments = std::make_shared<TrainArguments>();
  Command* train =
      program.app.add_subcommand("train", "Train a model on a data set and write it as ONNX");
  train->add_option("MODEL", arguments->model, "an .onnx file, or zoo:NAME")->required();
  add_sample_options(*train, *arguments);
  add_training_options(*train, *arguments);
  add_running_options(*train, *arguments);
  train->footer(kTrainExamples);
  train->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_train(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
