// What the parts of `assay sweep` share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/sweep.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/page.h"

namespace assay::cli {

struct SweepFormat {
  bool json = false;
  bool csv = false;
  bool table = false;
  bool markdown = false;
  std::string html = {};
};
// --json, --csv, --table and --markdown, which exclude each other, and --html.
void add_sweep_format(Command& command, SweepFormat& format);

struct SweepArguments {
  std::string config;
  std::string output;
  std::string seeds;
  bool print_config = false;
  bool dry_run = false;
  bool retry_errors = false;
  SweepFormat format;
};

// Reads a configuration with the changes that flags make. Its problems are one Error.
SweepConfig config_of(const SweepArguments& arguments);
// Problems of a configuration are printed one by one.
Exit listing_problems(const std::function<Exit()>& work);
// Prints what was found and where the files are.
Exit report_sweep(const SweepResult& result, const std::string& folder, const SweepFormat& format,
                  PageFile& page, bool quiet);

// Gathers the results of all workers, writes the files, and prints what was found.
Exit merge_and_report(const std::string& folder, const SweepFormat& format, bool quiet);

// plan, worker, merge and submit: a sweep on many machines.
void add_sweep_machines(Command& sweep, CommandLine& program);

}  // namespace assay::cli
