#include "cli/engine_options.h"

#include <algorithm>
#include <limits>

#include "assay/machine.h"
#include "base/cache_file.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/model_argument.h"

namespace assay::cli {

namespace {

// The engine checks whether the machine has that many processors.
int parse_threads(const std::string& text) {
  const std::int64_t threads = parse_count("--threads", text, 1);
  return static_cast<int>(std::min<std::int64_t>(threads, std::numeric_limits<int>::max()));
}

template <typename Choice>
Choice parse_choice(const char* flag, const std::string& text, std::initializer_list<Choice> all) {
  std::vector<std::string> names;
  for (const Choice choice : all) {
    if (text == name(choice)) return choice;
    names.emplace_back(name(choice));
  }
  fail_usage("{} {}: expected {}", flag, text, join(names, " or "));
}

EngineInfo engine_of(const EngineArguments& arguments) {
  return find_engine(arguments.engine.empty() ? default_engine() : arguments.engine);
}

}  // namespace

std::string engine_help() {
  std::vector<std::string> words = engine_names();
  words.front() += " (default)";
  return join(words, " or ");
}

void add_precision_option(Command& command, EngineArguments& arguments) {
  command.heading("Engine");
  command.add_option("--precision TYPE", arguments.precision,
                     "store weights and activations as fp32, bf16 or fp16; default: as the model "
                     "has them. int8 needs a quantised model, tf32 --engine cuda");
}

void add_engine_options(Command& command, EngineArguments& arguments, const char* threads_help) {
  command.heading("Engine");
  command.add_option("--threads N", arguments.threads, threads_help);
  command.add_option("--engine NAME", arguments.engine, engine_help());
  command.add_option("--optimize-for GOAL", arguments.optimize_for, "latency (default) or memory");
  command.add_flag("--no-pin", arguments.no_pin, "do not pin threads to processors");
  command.add_option("--tuning FILE", arguments.tuning,
                     "store the algorithms chosen for this machine in FILE, not in the cache "
                     "folder, and reuse them");
  command.add_flag("--no-tuning", arguments.no_tuning,
                   "choose algorithms anew; neither reuse nor store them");
  command.add_option("--seed N", arguments.seed, "seed of random inputs; default 0");
}

bool chooses_algorithms(const EngineArguments& arguments) {
  return engine_of(arguments).tunes_algorithms &&
         arguments.optimize_for != name(OptimizeFor::Memory);
}

void append_words(const EngineArguments& arguments, std::vector<std::string>& words) {
  const auto append = [&](const char* flag, const std::string& text) {
    if (!text.empty()) words.insert(words.end(), {flag, text});
  };
  append("--threads", arguments.threads);
  append("--engine", arguments.engine);
  append("--optimize-for", arguments.optimize_for);
  append("--seed", arguments.seed);
  append("--tuning", arguments.tuning);
  if (arguments.no_tuning) words.emplace_back("--no-tuning");
  append("--precision", arguments.precision);
  if (arguments.no_pin) words.emplace_back("--no-pin");
}

void apply_engine_options(const EngineArguments& arguments, RunOptions& options) {
  if (!arguments.threads.empty()) options.program.cpu.threads = parse_threads(arguments.threads);
  options.program.engine = engine_of(arguments).name;
  if (!arguments.optimize_for.empty()) {
    options.program.optimize_for = parse_choice("--optimize-for", arguments.optimize_for,
                                                {OptimizeFor::Latency, OptimizeFor::Memory});
  }
  if (!arguments.tuning.empty() && !chooses_algorithms(arguments)) {
    fail_usage(
        "--tuning requires --engine {} and --optimize-for latency: only then are algorithms timed",
        default_engine());
  }
  if (!arguments.tuning.empty() && arguments.no_tuning) {
    fail_usage("--tuning {} stores choices, --no-tuning does not: use one of them",
               arguments.tuning);
  }
  options.program.tuning_file = arguments.tuning;
  if (!arguments.no_tuning && chooses_algorithms(arguments))
    options.program.tuning_cache = cache_path("tuning", "engines").value_or("");
  options.program.cpu.pin_threads = !arguments.no_pin;
  if (!arguments.precision.empty()) set_precision(options.program, arguments.precision);
  if (!arguments.seed.empty()) {
    options.seed = static_cast<std::uint64_t>(parse_count("--seed", arguments.seed, 0));
  }
}

void choose_threads(const EngineArguments& arguments, ProgramOptions& program) {
  if (program.cpu.threads > 0) return;
  program.cpu.fewer_where_faster = true;
  const bool keeps_choices = arguments.tuning.empty() && !arguments.no_tuning;
  if (keeps_choices) program.tuning_cache = cache_path("tuning", "engines").value_or("");
}

int threads_of(const ProgramOptions& program) {
  return program.cpu.threads > 0 ? program.cpu.threads
                                 : static_cast<int>(read_topology().usable.size());
}

}  // namespace assay::cli
