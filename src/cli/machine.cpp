// assay machine: what this machine is, and the ceilings that short kernels measure on it.
#include <fmt/chrono.h>

#include <ctime>
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
  assay machine --quick     fewer tries, reading and triad only; not kept
  assay machine --json      the same for programs)";

std::string now_in_utc() {
  const std::time_t now = std::time(nullptr);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

Machine measured(Topology topology, bool quick, bool quiet) {
  catch_interrupts();
  ProgressBar progress(quiet);
  Machine machine{.measured_at = now_in_utc(), .topology = std::move(topology)};
  machine.ceilings = measure_ceilings(machine.topology, {.quick = quick}, &progress);
  return machine;
}

Exit run_machine(const Arguments& arguments, bool quiet) {
  Topology topology = read_topology();
  const bool may_be_kept = !arguments.refresh && !arguments.quick;
  auto kept = may_be_kept ? kept_machine(topology) : std::nullopt;
  const bool is_new = !kept;
  Machine machine = kept ? std::move(*kept) : measured(std::move(topology), arguments.quick, quiet);
  machine.surroundings = read_surroundings();  // as they are now
  machine.instruments = find_instruments();
  std::vector<std::string> warnings = machine.surroundings.notes;
  if (is_new && !arguments.quick) {
    if (std::string why_not = keep_machine(machine); !why_not.empty()) {
      warnings.push_back(std::move(why_not));
    }
  }
  print_data(arguments.json ? machine_json(machine) : machine_table(machine));
  print_warnings(warnings, quiet);
  return Exit::Fine;
}

}  // namespace

void add_machine(CommandLine& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* machine =
      program.app.add_subcommand("machine", "This machine's ceilings, caches and surroundings");
  machine->add_flag("--refresh", arguments->refresh, "measure again, and keep that");
  machine->add_flag("--quick", arguments->quick, "fewer tries, reading and triad only; not kept");
  machine->add_flag("--json", arguments->json, "print one JSON object");
  machine->footer(kExamples);
  machine->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_machine(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
