#include "cli/machine_choice.h"

#include <fmt/core.h>

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

}  // namespace assay::cli
