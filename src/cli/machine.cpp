// assay machine: describes this machine and measures its ceilings.
#include <memory>

#include "assay/compare_models.h"
#include "assay/machine_report.h"
#include "assay/stored_machine.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cli/machine_choice.h"
#include "cli/model_argument.h"
#include "cli/output_format.h"

namespace assay::cli {

namespace {

struct MachineArguments {
  OutputFormat format;
  bool quick = false;
  bool refresh = false;
  std::string max_time;
};

constexpr const char* kThisProgram = "/proc/self/exe";

constexpr const char* kMachineExamples = R"(Examples:
  assay machine             caches, peaks and bandwidths; about 20 s, then cached
  assay machine --refresh   measure again; otherwise the cached result is shown
  assay machine --refresh --max-time 60   larger buffers and more tries
  assay machine --quick     fewer repetitions, no copy bandwidth; not cached
  assay machine --json      the same for programs
ASSAY_MACHINE=FILE makes every command use the ceilings that 'assay machine --json' wrote to FILE.)";

CeilingOptions ceiling_options(const MachineArguments& arguments) {
  CeilingOptions options{.quick = arguments.quick};
  if (!arguments.max_time.empty()) {
    options.seconds = parse_decimal("--max-time", arguments.max_time, 0.1);
    if (!arguments.refresh && !arguments.quick) {
      fail_usage("--max-time requires --refresh or --quick");
    }
  }
  return options;
}

Machine wanted_machine(const MachineArguments& arguments, bool quiet,
                       std::vector<std::string>& warnings) {
  const CeilingOptions options = ceiling_options(arguments);
  ProgressBar progress(quiet);
  if (!arguments.refresh && !arguments.quick) {
    Machine machine = chosen_machine(progress, quiet, kStoredMachine, warnings);
    if (machine.process_spread || chosen_machine_file()) return machine;
    machine.process_spread = measured_process_spread(kThisProgram, progress);
    std::vector<std::string> known;  // what is wrong with its ceilings has been said
    cache_machine(machine, known);
    return machine;
  }
  Machine machine = measure_machine(options, &progress);
  if (arguments.quick) return machine;
  machine.process_spread = measured_process_spread(kThisProgram, progress);
  cache_machine(machine, warnings);
  return machine;
}

// A file that was chosen says which GPU there is.
std::optional<Gpu> wanted_gpu(const MachineArguments& arguments, bool quiet,
                              std::vector<std::string>& warnings) {
  ProgressBar progress(quiet);
  if (!arguments.refresh && !arguments.quick) return cached_or_measured_gpu(warnings, &progress);
  const auto found = find_gpu();
  if (!found) return {};
  Gpu gpu = measure_gpu(*found, {.quick = arguments.quick}, &progress);
  if (!arguments.quick) cache_gpu(gpu, warnings);
  return gpu;
}

Exit run_machine(const MachineArguments& arguments, bool quiet) {
  catch_interrupts();
  std::vector<std::string> warnings;
  Machine machine = wanted_machine(arguments, quiet, warnings);
  if (!chosen_machine_file()) machine.gpu = wanted_gpu(arguments, quiet, warnings);
  machine.surroundings = read_surroundings();  // as they are now
  machine.instruments = find_instruments();
  warnings.insert(warnings.begin(), machine.surroundings.notes.begin(),
                  machine.surroundings.notes.end());
  use_flags(warnings);
  print_data(formatted(
      arguments.format, [&](const Layout& layout) { return machine_table(machine, layout); },
      [&] { return machine_json(machine); }));
  print_warnings(warnings, quiet);
  return Exit::Fine;
}

}  // namespace

void add_machine(CommandLine& program) {
  auto arguments = std::make_shared<MachineArguments>();
  Command* machine =
      program.app.add_subcommand("machine", "Measure this machine: peaks, bandwidths, caches");
  machine->heading("Measurement");
  machine->add_flag("--refresh", arguments->refresh, "measure again and replace the cached result");
  machine->add_flag("--quick", arguments->quick,
                    "fewer repetitions, no copy bandwidth; not cached");
  machine->add_option("--max-time SECONDS", arguments->max_time, "seconds to measure; default 12");
  add_output_format(*machine, arguments->format);
  machine->footer(kMachineExamples);
  machine->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_machine(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
