// assay machine: what this machine is, and the ceilings that short kernels measure on it.
#include <memory>

#include "assay/machine_report.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/machine_cache.h"

namespace assay::cli {

namespace {

struct Arguments {
  bool json = false;
  bool quick = false;
  bool refresh = false;
};

constexpr const char* kExamples = R"(Examples:
  assay machine             caches, peaks and bandwidths; under 20 s
  assay machine --refresh   measure again; otherwise what was measured before is shown
  assay machine --quick     fewer tries, no copies; not kept
  assay machine --json      the same for programs)";

Machine wanted_machine(const Arguments& arguments, bool quiet, std::vector<std::string>& warnings) {
  ProgressBar progress(quiet);
  if (!arguments.refresh && !arguments.quick) return known_machine(progress, warnings);
  Machine machine = measured_machine(read_topology(), {.quick = arguments.quick}, progress);
  if (!arguments.quick) keep_machine(machine, warnings);
  return machine;
}

Exit run_machine(const Arguments& arguments, bool quiet) {
  catch_interrupts();
  std::vector<std::string> warnings;
  Machine machine = wanted_machine(arguments, quiet, warnings);
  machine.surroundings = read_surroundings();  // as they are now
  machine.instruments = find_instruments();
  warnings.insert(warnings.begin(), machine.surroundings.notes.begin(),
                  machine.surroundings.notes.end());
  print_data(arguments.json ? machine_json(machine) : machine_table(machine));
  print_warnings(warnings, quiet);
  return Exit::Fine;
}

}  // namespace

void add_machine(CommandLine& program) {
  auto arguments = std::make_shared<Arguments>();
  Command* machine =
      program.app.add_subcommand("machine", "This machine's ceilings, caches and surroundings");
  machine->add_flag("--refresh", arguments->refresh, "measure again, and keep that");
  machine->add_flag("--quick", arguments->quick, "fewer tries, no copies; not kept");
  machine->add_flag("--json", arguments->json, "print one JSON object");
  machine->footer(kExamples);
  machine->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_machine(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
