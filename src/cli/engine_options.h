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
  std::string tuning = {};
  bool no_pin = false;
};

// "cpu (default) or reference"
std::string engine_help();

// --engine, --optimize-for, --threads, --no-pin, --tuning and --seed.
void add_engine_options(Command& command, EngineArguments& arguments);

// Whether such a run times algorithms, whose choice a tuning file could keep.
bool chooses_algorithms(const EngineArguments& arguments);

// The same words again, for another process.
void append_words(const EngineArguments& arguments, std::vector<std::string>& words);

// Refuses what is no engine, no goal, or no number from 1 on.
void apply_engine_options(const EngineArguments& arguments, RunOptions& options);

}  // namespace assay::cli
