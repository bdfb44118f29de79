#include "cli/engine_options.h"

#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "base/text.h"
#include "cli/model_argument.h"

namespace assay::cli {

namespace {

// Whether the machine can have so many is the engine's to say.
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

}  // namespace

void add_engine_options(Command& command, EngineArguments& arguments) {
  command.add_option("--threads", arguments.threads,
                     "exactly so many; default: as many as processors");
  command.add_option("--engine", arguments.engine, "onednn (default) or reference");
  command.add_option("--optimize-for", arguments.optimize_for, "latency (default) or memory");
  command.add_flag("--no-pin", arguments.no_pin, "let threads wander between processors");
  command.add_option("--tuning", arguments.tuning,
                     "keep the algorithms chosen for this machine in FILE, and take them from it "
                     "next time: starts faster, always alike");
  command.add_option("--seed", arguments.seed, "of inputs drawn at random; default 0");
}

bool chooses_algorithms(const EngineArguments& arguments) {
  return arguments.engine != name(Engine::Reference) &&
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
  if (arguments.no_pin) words.emplace_back("--no-pin");
}

void apply_engine_options(const EngineArguments& arguments, RunOptions& options) {
  if (!arguments.threads.empty()) options.program.threads = parse_threads(arguments.threads);
  if (!arguments.engine.empty()) {
    options.program.engine =
        parse_choice("--engine", arguments.engine, {Engine::OneDnn, Engine::Reference});
  }
  if (!arguments.optimize_for.empty()) {
    options.program.optimize_for = parse_choice("--optimize-for", arguments.optimize_for,
                                                {OptimizeFor::Latency, OptimizeFor::Memory});
  }
  if (!arguments.tuning.empty() && !chooses_algorithms(arguments)) {
    fail_usage("--tuning goes with --engine onednn for latency: nothing else times algorithms");
  }
  options.program.tuning_file = arguments.tuning;
  options.program.pin_threads = !arguments.no_pin;
  if (!arguments.seed.empty()) {
    options.seed = static_cast<std::uint64_t>(parse_count("--seed", arguments.seed, 0));
  }
}

}  // namespace assay::cli
