// assay compare: which of two models is faster, from fresh processes that measure in turns; or two
// stored profiles.
#include <memory>

#include "assay/stored_profile.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/duel.h"
#include "cli/model_argument.h"

namespace assay::cli {

namespace {

struct CompareArguments {
  ComparedModels models;
  std::string max_time;
  std::string threshold;
  bool json = false;
};

constexpr const char* kCompareExamples = R"(Examples:
  assay compare old.onnx new.onnx                fresh processes in turns, a verdict on B
  assay compare zoo:resnet18 zoo:resnet34 --threads 1 --batch 8
  assay compare old.onnx new.onnx --max-time 300 --threshold 0.5
  assay profile old.onnx --json > old.json       then, later,
  assay compare old.json new.json                two stored profiles
The verdict is FASTER, SLOWER, SAME or UNDECIDED, for B compared with A.)";

bool is_stored(const std::string& argument) {
  return argument.ends_with(".json");
}

ComparisonOptions comparison_options(const CompareArguments& arguments) {
  ComparisonOptions options;
  if (!arguments.max_time.empty()) {
    options.max_seconds = parse_decimal("--max-time", arguments.max_time, 0.1);
  }
  if (!arguments.threshold.empty()) {
    options.threshold = parse_decimal("--threshold", arguments.threshold, 0.001) / 100.0;
  }
  return options;
}

// --- two models

ModelComparison compared_models(CompareArguments arguments, const ComparisonOptions& options,
                                bool quiet) {
  RunOptions checked;
  apply_engine_options(arguments.models.engine, checked);  // report mistakes before anything starts
  catch_interrupts();
  const SharedTuning tuning(arguments.models.engine);
  ProgressBar progress(quiet);
  return run_in_turns(arguments.models, options, progress);
}

// --- two stored profiles

ComparedSide stored(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  const auto file = MappedFile::open(path);
  if (file->bytes().size() > kLargest) fail_bad_input("{}: too large to be a profile", path);
  const std::string text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  file->check_intact();
  ComparedSide side{.profile = parse_profile_json(text, path)};
  side.processes = {{side.profile.samples_ms}};
  return side;
}

ModelComparison compared_profiles(const CompareArguments& arguments,
                                  const ComparisonOptions& options) {
  ModelComparison comparison;
  comparison.a = stored(arguments.models.a);
  comparison.b = stored(arguments.models.b);
  comparison.interleaved = false;
  comparison.result = compare_samples(comparison.a.processes, comparison.b.processes, options);
  comparison.warnings.emplace_back(
      "stored profiles were not run in turns: other load on the machine may be part of the "
      "difference; compare the models themselves to be sure");
  const StoredProfile& a = comparison.a.profile;
  const StoredProfile& b = comparison.b.profile;
  if (a.threads != b.threads) {
    comparison.warnings.push_back(
        fmt::format("A ran on {} threads, B on {}", a.threads, b.threads));
  }
  if (a.batch != b.batch) {
    comparison.warnings.push_back(fmt::format("A ran with batch {}, B with {}", a.batch, b.batch));
  }
  return comparison;
}

ModelComparison compared(const CompareArguments& arguments, bool quiet) {
  const ComparisonOptions options = comparison_options(arguments);
  if (is_stored(arguments.models.a) != is_stored(arguments.models.b)) {
    fail_usage("give two models or two stored profiles, not {} and {}", arguments.models.a,
               arguments.models.b);
  }
  ModelComparison comparison = is_stored(arguments.models.a)
                                   ? compared_profiles(arguments, options)
                                   : compared_models(arguments, options, quiet);
  comparison.threshold = options.threshold;
  return comparison;
}

Exit run_compare(const CompareArguments& arguments, bool quiet) {
  const ModelComparison comparison = compared(arguments, quiet);
  print_data(arguments.json ? compare_json(comparison) : compare_table(comparison));
  print_warnings(comparison.warnings, quiet);
  if (!comparison.interrupted) return Exit::Fine;
  print_error("interrupted: these are the results so far");
  return Exit::Interrupted;
}

}  // namespace

void add_compare(CommandLine& program) {
  auto arguments = std::make_shared<CompareArguments>();
  Command* compare = program.app.add_subcommand(
      "compare", "Tell which of two models or stored profiles is faster");
  compare->add_option("A", arguments->models.a, "a model, or a profile stored as .json")
      ->required();
  compare->add_option("B", arguments->models.b, "a second model or profile, of the same kind as A")
      ->required();
  add_shape_options(*compare, arguments->models.shapes);
  add_engine_options(*compare, arguments->models.engine);
  compare->add_option("--max-time", arguments->max_time,
                      "stop after N seconds if undecided; default 60");
  compare->add_option("--threshold", arguments->threshold,
                      "treat a change below N percent as noise; default 1");
  compare->add_flag("--json", arguments->json, "print one JSON object");
  compare->footer(kCompareExamples);
  compare->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_compare(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
