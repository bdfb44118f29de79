#include "cli/machine_choice.h"

#include <fmt/core.h>

#include "assay/engine.h"
#include "assay/stored_machine.h"
#include "cli/console.h"

namespace assay::cli {

Machine chosen_machine(Progress& progress, bool quiet, std::string_view how_to_skip,
                       std::vector<std::string>& warnings) {
  return assay::chosen_machine(warnings, &progress, [&] {
    print_note(fmt::format("measuring this machine's ceilings (peak arithmetic and memory "
                           "bandwidth, which layers are compared with): about {:.0f} s, once, then "
                           "cached; {}",
                           seconds_to_measure({}), how_to_skip),
               quiet);
  });
}

Machine chosen_machine_for(const ProgramOptions& program, Progress& progress, bool quiet,
                           std::string_view how_to_skip, std::vector<std::string>& warnings) {
  if (find_engine(program.engine).device == "cpu")
    return chosen_machine(progress, quiet, how_to_skip, warnings);
  return chosen_gpu(warnings, &progress, [&] {
    print_note(fmt::format("measuring the GPU's ceilings (peak arithmetic and memory bandwidth, "
                           "which layers are compared with): a few seconds, once, then cached; {}",
                           how_to_skip),
               quiet);
  });
}

}  // namespace assay::cli
