// The subcommands. Each file adds one to the program and sets what runs when it is chosen.
#pragma once

#include <functional>

#include "cli/command.h"
#include "cli/exit.h"

namespace assay::cli {

struct CommandLine {
  Command app{"assay", "assay tells what a neural network costs on a machine."};
  bool quiet = false;
  std::function<Exit()> chosen;  // what the command line asked for
};

void add_count(CommandLine& program);
void add_profile(CommandLine& program);
void add_run(CommandLine& program);
void add_compare(CommandLine& program);
void add_machine(CommandLine& program);
void add_devices(CommandLine& program);
void add_fit(CommandLine& program);
void add_stream(CommandLine& program);
void add_train(CommandLine& program);
void add_evaluate(CommandLine& program);
void add_optimize(CommandLine& program);
void add_study(CommandLine& program);
void add_sweep(CommandLine& program);
void add_report(CommandLine& program);
void add_zoo(CommandLine& program);
void add_describe(CommandLine& program);  // hidden

}  // namespace assay::cli
