// assay study: how a cost changes when one thing changes.
#include <algorithm>
#include <functional>
#include <memory>

#include "assay/precision_variants.h"
#include "assay/study_report.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cli/machine_choice.h"
#include "cli/model_argument.h"
#include "cli/origin.h"
#include "cli/page.h"
#include "cli/study_arguments.h"
#include "cli/study_models.h"

namespace assay::cli {

namespace {

constexpr const char* kStudyExamples = R"(Examples:
  assay study scaling                       linear layers of width 64 to 512
  assay study scaling zoo:encoder --parameter width --values 128,256,512
  assay study batch model.onnx --batch 1,2,4,8,16 --max-mb 200
  assay study operations                    matmul, convolution, attention, …
  assay study overhead zoo:resnet18         what measuring itself costs
  assay study decode --tokens 64            GPT-2 without and with a KV cache
  assay study precision zoo:resnet18        fp32, bf16, fp16 and int8
  assay study threads zoo:resnet50          where the speed-up of threads ends
  assay study batch --out results           table, pictures and JSON in a folder
  assay study batch --html page.html        a page with charts, to share
'assay study WHAT --help' lists the options of one.)";

constexpr const char* kScalingExamples = R"(Examples:
  assay study scaling                       width 64, 128, 256, 512 at batch 32
  assay study scaling --values 128,256,512,1024,2048 --threads 1
  assay study scaling zoo:gpt2_small --parameter length --values 32,64,128
  assay study scaling zoo:encoder:layers=2 --parameter width --values 128,256,512)";

constexpr const char* kBatchExamples = R"(Examples:
  assay study batch                         a linear layer of 256 features
  assay study batch zoo:resnet18 --batch 1,2,4,8
  assay study batch model.onnx --batch 1,2,4,8,16,32 --max-mb 500
The sweet spot is the smallest batch within 3 % of the best throughput of those
within the memory budget.)";

constexpr const char* kOperationsExamples = R"(Examples:
  assay study operations
  assay study operations --sizes 128,512 --threads 1
  assay study operations --csv)";

constexpr const char* kOverheadExamples = R"(Examples:
  assay study overhead                      of a small perceptron
  assay study overhead zoo:resnet18 --threads 1)";

constexpr const char* kDecodeExamples = R"(Examples:
  assay study decode                        GPT-2 small, 64 tokens
  assay study decode --tokens 128 --prompt 32
  assay study decode zoo:gpt2_small:layers=2
  assay study decode plain.onnx --cached with_past.onnx)";

constexpr const char* kPrecisionExamples = R"(Examples:
  assay study precision zoo:resnet18
  assay study precision model.onnx --precisions fp32,int8 --batch 8
int8 is calibrated on random inputs, which is enough for speed and size; for
accuracy calibrate on data, with 'assay optimize'. 16 bits are used throughout, even where
that is slower; 'assay profile --precision' uses them where they are faster.)";

constexpr const char* kThreadsExamples = R"(Examples:
  assay study threads zoo:resnet50
  assay study threads model.onnx --threads 1,2,3,4 --batch 8)";

// Everything that a study needs besides its own options.
struct StudyContext {
  const StudyArguments& arguments;
  StudyOptions options;
  std::vector<std::string> warnings;
  ProgressBar progress;
  bool quiet = false;
};

using MakeReport = std::function<StudyReport(StudyContext&)>;

ScalingOptions scaling_options(const StudyContext& context) {
  const StudyArguments& arguments = context.arguments;
  ScalingOptions options{.measuring = context.options};
  const std::string given = options.model;
  options.model = zoo_spec(arguments.model.model.empty() ? "zoo:" + given : arguments.model.model);
  if (options.model != given) options.batch.reset();
  if (!arguments.parameter.empty()) options.parameter = arguments.parameter;
  if (!arguments.values.empty()) options.values = parse_list("--values", arguments.values, 0);
  if (!arguments.model.batch.empty()) {
    options.batch = parse_count("--batch", arguments.model.batch, 1);
  }
  return options;
}

StudyReport scaling_study(StudyContext& context) {
  return study_report(analyze_model_scaling(scaling_options(context), &context.progress));
}

// Of studies that a network of usual size suits best.
constexpr const char* kUsualModel = "zoo:resnet18";

// A model in place of the study's own, and the bindings that go with it.
RequestedModel model_or(const StudyArguments& arguments, const std::string& otherwise) {
  ModelArguments model = arguments.model;
  if (model.model.empty()) model.model = otherwise;
  return requested_model(model);
}

std::string name_or(const StudyArguments& arguments, const std::string& otherwise) {
  return arguments.model.model.empty() ? otherwise : arguments.model.model;
}

StudyReport batch_study(StudyContext& context) {
  StudyArguments arguments = context.arguments;
  BatchOptions options{.measuring = context.options};
  if (!arguments.model.batch.empty()) {
    options.batches = parse_list("--batch", arguments.model.batch, 1);
    arguments.model.batch.clear();
  }
  if (!arguments.max_mb.empty()) options.max_mb = parse_decimal("--max-mb", arguments.max_mb, 0);
  const std::string standard = "zoo:dense:width=256";
  const RequestedModel model = model_or(arguments, standard);
  options.run = model.run;
  const std::string name = name_or(arguments, standard);
  return naming_model(name, [&] {
    return study_report(analyze_batch_size_effects(model.graph, name, options, &context.progress));
  });
}

StudyReport operations_study(StudyContext& context) {
  OperationOptions options{.measuring = context.options};
  if (!context.arguments.sizes.empty()) {
    options.sizes = parse_list("--sizes", context.arguments.sizes, 1);
  }
  return study_report(benchmark_operation_efficiency(options, &context.progress));
}

StudyReport overhead_study(StudyContext& context) {
  const std::string standard = "zoo:mlp";
  const RequestedModel model = model_or(context.arguments, standard);
  const std::string name = name_or(context.arguments, standard);
  return naming_model(name, [&] {
    return study_report(analyze_profiling_overhead(model.graph, name, context.options, model.run,
                                                   &context.progress));
  });
}

StudyReport decode_study(StudyContext& context) {
  StudyArguments arguments = context.arguments;
  if (arguments.model.model.empty()) arguments.model.model = "zoo:gpt2_small";
  DecodingOptions options;
  const StudyOptions standard = options.measuring;
  options.measuring = context.options;
  if (arguments.warmup.empty()) options.measuring.warmup = standard.warmup;
  if (arguments.runs.empty()) options.measuring.runs = standard.runs;
  if (arguments.rounds.empty()) options.measuring.rounds = standard.rounds;
  if (!arguments.tokens.empty()) {
    options.tokens =
        static_cast<std::size_t>(parse_count("--tokens", arguments.tokens, 2, 100'000));
  }
  const std::int64_t prompt =
      arguments.prompt.empty() ? 16 : parse_count("--prompt", arguments.prompt, 1, 100'000);
  for (std::int64_t i = 0; i < prompt; ++i) options.prompt.push_back((7 * i + 3) % 50);
  const Graph cached = load_model(cached_model(arguments));
  const Graph plain = load_model(arguments.model.model);
  return naming_model(arguments.model.model, [&] {
    return study_report(
        analyze_decoding(plain, cached, arguments.model.model, options, &context.progress));
  });
}

StudyReport precision_study(StudyContext& context) {
  const StudyArguments& arguments = context.arguments;
  const RequestedModel model = model_or(arguments, kUsualModel);
  const std::string name = name_or(arguments, kUsualModel);
  const auto names =
      split(arguments.precisions.empty() ? "fp32,bf16,fp16,int8" : arguments.precisions, ',');
  return naming_model(name, [&] {
    const auto variants =
        precision_variants(model.graph, model.run, names, context.options, context.warnings);
    return study_report(
        analyze_precisions(variants, name, context.options, model.run, &context.progress));
  });
}

StudyReport threads_study(StudyContext& context) {
  const StudyArguments& arguments = context.arguments;
  const RequestedModel model = model_or(arguments, kUsualModel);
  const std::string name = name_or(arguments, kUsualModel);
  std::vector<int> counts;
  if (!arguments.engine.threads.empty()) {
    for (const std::int64_t count : parse_list("--threads", arguments.engine.threads, 1)) {
      counts.push_back(static_cast<int>(std::min<std::int64_t>(count, 1'000'000)));
    }
  }
  return naming_model(name, [&] {
    return study_report(analyze_thread_scaling(model.graph, name, counts, context.options,
                                               model.run, &context.progress));
  });
}

// Opened before anything runs, so that errors show at once.
class StudyFiles {
 public:
  StudyFiles(const std::string& folder, const std::string& study) {
    if (folder.empty()) return;
    make_folder(folder);
    for (const char* ending : {".json", ".csv", ".png", ".svg"}) {
      files_.push_back(
          std::make_unique<AtomicFile>(std::filesystem::path(folder) / (study + ending)));
    }
  }

  void write(const StudyReport& report) {
    if (files_.empty()) return;
    const std::string contents[] = {with_origin(study_json(report)), study_csv(report),
                                    study_png(report), study_svg(report)};
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i]->write(contents[i]);
      files_[i]->commit();
    }
  }

 private:
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

// The threads of a study about threads are a list of its own.
StudyOptions options_of(const StudyArguments& arguments, const std::string& study) {
  StudyArguments plain = arguments;
  if (study == "threads") plain.engine.threads.clear();
  return study_options(plain);
}

Exit run_study(const std::string& study, const StudyArguments& arguments, const MakeReport& make,
               bool quiet) {
  StudyContext context{arguments, options_of(arguments, study), {}, ProgressBar(quiet), quiet};
  StudyFiles files(arguments.folder, study);
  PageFile page(arguments.html);
  catch_interrupts();
  context.options.machine = chosen_machine_for(context.options.program, context.progress, quiet,
                                               kStoredMachine, context.warnings);
  StudyReport report = make(context);
  auto& warnings = report.facts.warnings;
  warnings.insert(warnings.end(), context.warnings.begin(), context.warnings.end());
  use_flags(warnings);
  files.write(report);
  page.write(study + ".json", [&] { return study_json(report); });
  print_data(formatted(
      arguments.format, [&](const Layout& layout) { return study_table(report, layout); },
      [&] { return study_json(report); }, [&] { return study_csv(report); }));
  print_warnings(warnings, quiet);
  return Exit::Fine;
}

// What a study takes besides the options of all.
enum class Takes { Nothing, Model };

struct StudyKind {
  const char* name = "";
  const char* description = "";
  const char* examples = "";
  Takes takes = Takes::Nothing;
  const char* standard_model = "";
  bool takes_shapes = false;
  StudyReport (*make)(StudyContext&) = nullptr;
  void (*add_options)(Command&, StudyArguments&) = nullptr;
};

void add_scaling_options(Command& command, StudyArguments& arguments) {
  command.add_option("--parameter NAME", arguments.parameter,
                     "parameter of the network to vary ('assay zoo' lists them); default width");
  command.add_option("--values LIST", arguments.values,
                     "its values, ascending; default 64,128,256,512");
  command.add_option("--batch N", arguments.model.batch,
                     "batch size; default 32, of other networks 1");
}

void add_batch_options(Command& command, StudyArguments& arguments) {
  command.add_option("--max-mb MB", arguments.max_mb,
                     "memory budget for weights and activations; default: none");
}

void add_operations_options(Command& command, StudyArguments& arguments) {
  command.add_option("--sizes LIST", arguments.sizes, "sizes; default 64,256,1024");
}

void add_decode_options(Command& command, StudyArguments& arguments) {
  add_precision_option(command, arguments.engine);
  command.add_option("--tokens N", arguments.tokens, "tokens to generate; default 64");
  command.add_option("--prompt N", arguments.prompt, "tokens of the prompt; default 16");
  command.add_option("--cached MODEL", arguments.cached,
                     "the same model with past keys and values as inputs; default: the zoo's");
}

void add_precision_study_options(Command& command, StudyArguments& arguments) {
  command.add_option("--precisions LIST", arguments.precisions,
                     "default fp32,bf16,fp16,int8; others are compared with the first");
}

const StudyKind kStudies[] = {
    {"scaling", "How parameters, FLOPs, latency and memory grow with a network's size",
     kScalingExamples, Takes::Model, "zoo:dense", false, scaling_study, add_scaling_options},
    {"batch", "Throughput, latency and memory by batch size, and the sweet spot", kBatchExamples,
     Takes::Model, "zoo:dense:width=256", true, batch_study, add_batch_options},
    {"operations", "Which operations use the machine well, and what to work on first",
     kOperationsExamples, Takes::Nothing, "", false, operations_study, add_operations_options},
    {"overhead", "What measuring costs, and when to use which mode", kOverheadExamples,
     Takes::Model, "zoo:mlp", true, overhead_study, nullptr},
    {"decode", "A language model without and with a cache of keys and values", kDecodeExamples,
     Takes::Model, "zoo:gpt2_small", false, decode_study, add_decode_options},
    {"precision", "Latency, memory, size and outputs of a model by precision", kPrecisionExamples,
     Takes::Model, kUsualModel, true, precision_study, add_precision_study_options},
    {"threads", "Speed-up and efficiency by number of threads, and where it ends", kThreadsExamples,
     Takes::Model, kUsualModel, true, threads_study, nullptr},
};

void add_study_model(Command& command, const StudyKind& kind, StudyArguments& arguments) {
  if (kind.takes == Takes::Nothing) return;
  command.add_option("MODEL", arguments.model.model,
                     std::string("an .onnx file, or zoo:NAME; default ") + kind.standard_model);
}

void add_kind(CommandLine& program, Command& study, const StudyKind& kind) {
  auto arguments = std::make_shared<StudyArguments>();
  Command* command = study.add_subcommand(kind.name, kind.description);
  command->heading("Study");
  add_study_model(*command, kind, *arguments);
  if (kind.add_options != nullptr) kind.add_options(*command, *arguments);
  add_study_options(*command, *arguments, kind.takes_shapes);
  command->footer(kind.examples);
  command->callback([&program, arguments, &kind] {
    program.chosen = [&program, arguments, &kind] {
      return run_study(kind.name, *arguments, kind.make, program.quiet);
    };
  });
}

}  // namespace

void add_study(CommandLine& program) {
  Command* study = program.app.add_subcommand(
      "study", "How a cost changes with size, batch, precision, threads, …");
  study->inherit_options();
  for (const StudyKind& kind : kStudies) add_kind(program, *study, kind);
  study->footer(kStudyExamples);
  study->callback([&program, study] {
    if (study->chose_subcommand()) return;
    program.chosen = [study]() -> Exit {
      fail_usage("a study is missing; there are: {}", join(study->subcommand_names(), ", "));
    };
  });
}

}  // namespace assay::cli
