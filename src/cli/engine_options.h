// How to run a model: shared by every command that runs one.
#pragma once

#include <string>

#include "assay/run.h"
#include "cli/command.h"

namespace assay::cli {

struct EngineArguments {
  std::string engine = {};
  std::string optimize_for = {};
  std::string threads = {};
  std::string seed = {};
  std::string precision = {};
  std::string tuning = {};
  bool no_tuning = false;
  bool no_pin = false;
};

// "cpu (default) or reference"
std::string engine_help();

inline constexpr const char* kThreadsHelp = "run on N threads; default: one per processor";
// For commands that `choose_threads`.
inline constexpr const char* kChosenThreadsHelp =
    "run on N threads; default: one per processor, fewer for a small model that is faster on fewer";

// --precision.
void add_precision_option(Command& command, EngineArguments& arguments);

// --engine, --optimize-for, --threads, --no-pin, --tuning, --no-tuning and --seed.
void add_engine_options(Command& command, EngineArguments& arguments,
                        const char* threads_help = kThreadsHelp);

// Whether such a run times algorithms, so that a tuning file can store the choice.
bool chooses_algorithms(const EngineArguments& arguments);

// Appends the same options for the command line of another process.
void append_words(const EngineArguments& arguments, std::vector<std::string>& words);

// Throws for an unknown engine or goal, and for numbers below 1.
void apply_engine_options(const EngineArguments& arguments, RunOptions& options);

// Without --threads: lets a small model run on fewer threads where it is clearly faster on them.
void choose_threads(const EngineArguments& arguments, ProgramOptions& program);

// Asked for, or as many as this process may run on.
int threads_of(const ProgramOptions& program);

}  // namespace assay::cli
