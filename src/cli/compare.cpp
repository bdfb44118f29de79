// assay compare: which of two models is faster, from fresh processes that measure in turns; or two
// stored profiles.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>

#include "assay/stored_profile.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_options.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"

namespace assay::cli {

namespace {

struct Arguments {
  std::string a;
  std::string b;
  ModelArguments shapes;  // for both; its model stays empty
  EngineArguments engine;
  std::string max_time;
  std::string threshold;
  bool json = false;
};

constexpr const char* kExamples = R"(Examples:
  assay compare old.onnx new.onnx                fresh processes in turns, a verdict on B
  assay compare zoo:resnet18 zoo:resnet34 --threads 1 --batch 8
  assay compare old.onnx new.onnx --max-time 300 --threshold 0.5
  assay profile old.onnx --json > old.json       then, later,
  assay compare old.json new.json                two stored profiles
FASTER, SLOWER, SAME or UNDECIDED describes B compared with A.)";

bool is_stored(const std::string& argument) {
  return argument.ends_with(".json");
}

ComparisonOptions comparison_options(const Arguments& arguments) {
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

// Of one process of many: it is one observation, so its samples may be few. What the first pairs
// cannot decide takes a closer look at each.
double seconds_to_measure(std::size_t pairs_before, const ComparisonOptions& options) {
  constexpr double kEasyVerdict = 20;       // seconds
  constexpr double kProcessesThatFit = 32;  // more would see too little of each
  const double seconds = std::min(kEasyVerdict, options.max_seconds) / kProcessesThatFit;
  return pairs_before < options.min_pairs ? seconds : 2 * seconds;
}

std::vector<std::string> profile_words(const Arguments& arguments, const std::string& model,
                                       double max_seconds) {
  const std::string seconds = fmt::format("{:.3f}", max_seconds);
  std::vector<std::string> words = {"profile",       model,        "--json", "--quiet",
                                    "--no-ceilings", "--top",      "1",      "--max-time",
                                    seconds,         "--min-time", seconds};
  append_words(arguments.shapes, words);
  append_words(arguments.engine, words);
  return words;
}

// "error: zoo:x: …" as the child said it, under the kind that its exit code tells.
[[noreturn]] void fail_like(const ChildResult& child, const std::string& model) {
  std::string message = child.complaints.substr(0, child.complaints.find('\n'));
  constexpr std::string_view kLabel = "error: ";
  if (message.starts_with(kLabel)) message = message.substr(kLabel.size());
  if (message.empty()) message = fmt::format("{}: profiling ended with {}", model, child.exit_code);
  if (child.exit_code == static_cast<int>(Exit::Usage)) throw Error(ErrorKind::Usage, message);
  if (child.exit_code == static_cast<int>(Exit::BadInput))
    throw Error(ErrorKind::BadInput, message);
  throw Error(ErrorKind::Failed, message);
}

// A pair of fresh processes at a time, which measure in turns, until the verdict is sure or the
// time is up.
class Duel {
 public:
  Duel(const Arguments& arguments, const ComparisonOptions& options, Progress& progress)
      : arguments_(arguments), options_(options), progress_(progress) {}

  ModelComparison run() {
    const std::int64_t start = steady_clock().nanoseconds();
    const auto elapsed = [&] {
      return static_cast<double>(steady_clock().nanoseconds() - start) * 1e-9;
    };
    PairTimes times;
    do {
      progress_.report(std::min(1.0, elapsed() / options_.max_seconds), "comparing");
      if (!run_pair()) break;
      result_.result = compare_samples(result_.a.processes, result_.b.processes, options_);
      times = {elapsed(), elapsed() - times.elapsed_seconds};
    } while (needs_another_pair(result_.result, times, options_));
    return std::move(result_);
  }

 private:
  // False when interrupted after at least one whole pair.
  bool run_pair() {
    const std::size_t pairs = result_.result.pairs;
    const double seconds = seconds_to_measure(pairs, options_);
    try {
      TurnTaker a(profile_words(arguments_, arguments_.a, seconds));
      // The first of all may tune, and the second finds what it chose.
      if (pairs == 0) wait_until_ready(a, true);
      TurnTaker b(profile_words(arguments_, arguments_.b, seconds));
      if (pairs > 0) wait_until_ready(a, true);
      wait_until_ready(b, false);
      while (!a.has_ended() || !b.has_ended()) take_turns(a, b);
      keep(a, true);
      keep(b, false);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Cancelled || pairs == 0) throw;
      result_.a.processes.resize(pairs);
      result_.b.processes.resize(pairs);
      result_.interrupted = true;
      return false;
    }
  }

  const std::string& model(bool is_a) const { return is_a ? arguments_.a : arguments_.b; }

  void wait_until_ready(TurnTaker& process, bool is_a) {
    process.wait_until_ready();
    // It ended before it measured: that is told at once.
    if (process.has_ended()) keep(process, is_a);
  }

  // In an order left to chance, so that nothing on the machine can keep step with it.
  void take_turns(TurnTaker& a, TurnTaker& b) {
    const bool a_first = chance_() % 2 == 0;
    (a_first ? a : b).take_turn();
    (a_first ? b : a).take_turn();
  }

  void keep(TurnTaker& process, bool is_a) {
    const ChildResult child = process.result();
    if (child.exit_code != 0) fail_like(child, model(is_a));
    ComparedSide& side = is_a ? result_.a : result_.b;
    side.profile = parse_profile_json(child.output, model(is_a));
    side.processes.push_back({side.profile.samples_ms, child.samples_by_turn});
  }

  const Arguments& arguments_;
  const ComparisonOptions& options_;
  Progress& progress_;
  ModelComparison result_;
  std::mt19937 chance_{1};
};

// Equal layers get equal algorithms on both sides, in every process: what they are compared in is
// the models, not the luck of the choice.
class SharedTuning {
 public:
  explicit SharedTuning(EngineArguments& engine) {
    if (!engine.tuning.empty() || !chooses_algorithms(engine)) return;
    std::error_code failed;
    const auto folder = std::filesystem::temp_directory_path(failed);
    if (failed) {
      fail_running("no folder for temporary files: {}; set TMPDIR to one that is there",
                   failed.message());
    }
    path_ = folder / fmt::format("assay-tuning-{}", static_cast<long>(::getpid()));
    std::filesystem::remove(path_, failed);  // what another process of that number left behind
    engine.tuning = path_.string();
  }
  SharedTuning(const SharedTuning&) = delete;
  SharedTuning& operator=(const SharedTuning&) = delete;
  ~SharedTuning() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

ModelComparison compared_models(Arguments arguments, const ComparisonOptions& options, bool quiet) {
  RunOptions checked;
  apply_engine_options(arguments.engine, checked);  // a slip is told before anything starts
  catch_interrupts();
  const SharedTuning tuning(arguments.engine);
  ProgressBar progress(quiet);
  return Duel(arguments, options, progress).run();
}

// --- two stored profiles

ComparedSide stored(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  const auto file = MappedFile::open(path);
  if (file->bytes().size() > kLargest) fail_bad_input("{}: is too large for a profile", path);
  const std::string text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  file->check_intact();
  ComparedSide side{.profile = parse_profile_json(text, path)};
  side.processes = {{side.profile.samples_ms}};
  return side;
}

ModelComparison compared_profiles(const Arguments& arguments, const ComparisonOptions& options) {
  ModelComparison comparison;
  comparison.a = stored(arguments.a);
  comparison.b = stored(arguments.b);
  comparison.interleaved = false;
  comparison.result = compare_samples(comparison.a.processes, comparison.b.processes, options);
  comparison.warnings.emplace_back(
      "stored profiles were not run in turn: what else the machine did then is in the difference; "
      "compare the models themselves to be sure");
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

ModelComparison compared(const Arguments& arguments, bool quiet) {
  const ComparisonOptions options = comparison_options(arguments);
  if (is_stored(arguments.a) != is_stored(arguments.b)) {
    fail_usage("give two models or two stored profiles, not {} and {}", arguments.a, arguments.b);
  }
  ModelComparison comparison = is_stored(arguments.a) ? compared_profiles(arguments, options)
                                                      : compared_models(arguments, options, quiet);
  comparison.threshold = options.threshold;
  return comparison;
}

Exit run_compare(const Arguments& arguments, bool quiet) {
  const ModelComparison comparison = compared(arguments, quiet);
  print_data(arguments.json ? compare_json(comparison) : compare_table(comparison));
  print_warnings(comparison.warnings, quiet);
  if (!comparison.interrupted) return Exit::Fine;
  print_error("interrupted: this is what was measured until then");
  return Exit::Interrupted;
}

}  // namespace

void add_compare(CommandLine& program) {
  auto arguments = std::make_shared<Arguments>();
  Command* compare = program.app.add_subcommand(
      "compare", "Which of two models, or stored profiles, is faster, and is that sure");
  compare->add_option("A", arguments->a, "a model, or a profile stored as .json")->required();
  compare->add_option("B", arguments->b, "another of the same kind")->required();
  add_shape_options(*compare, arguments->shapes);
  add_engine_options(*compare, arguments->engine);
  compare->add_option("--max-time", arguments->max_time,
                      "seconds in all, if it stays undecided; default 60");
  compare->add_option("--threshold", arguments->threshold,
                      "a change of fewer percent is noise; default 1");
  compare->add_flag("--json", arguments->json, "print one JSON object");
  compare->footer(kExamples);
  compare->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_compare(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
