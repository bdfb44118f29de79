#include "cli/machine_choice.h"

#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "assay/stored_machine.h"
#include "base/fail.h"
#include "base/system_error.h"
#include "cli/console.h"

namespace assay::cli {

namespace {

std::string text_in(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail_bad_input("ASSAY_MACHINE={}: cannot be read: {}", path, last_system_error());
  std::stringstream text;
  text << file.rdbuf();
  if (text.view().empty())
    fail_bad_input("ASSAY_MACHINE={}: is empty; 'assay machine --json > FILE' writes one", path);
  return text.str();
}

// The file may be from another machine, if the user wants to compare with that one.
Machine machine_in(const std::string& path, std::vector<std::string>& warnings) {
  Machine machine = parse_machine_json(text_in(path), path);
  if (fingerprint(machine.topology) != fingerprint(read_topology())) {
    warnings.push_back(
        fmt::format("{}: these are ceilings of another machine ({}), chosen by ASSAY_MACHINE", path,
                    machine.topology.processor));
  }
  warn_if_disturbed(machine, warnings);
  return machine;
}

void announce_measuring(std::string_view how_to_skip, bool quiet) {
  print_note(fmt::format("measuring this machine's ceilings (peak arithmetic and memory bandwidth, "
                         "which layers are compared with): about {:.0f} s, once, then cached; {}",
                         seconds_to_measure({}), how_to_skip),
             quiet);
}

}  // namespace

bool is_chosen_by_user() {
  const char* path = std::getenv("ASSAY_MACHINE");
  return path != nullptr && *path != '\0';
}

Machine chosen_machine(Progress& progress, bool quiet, std::string_view how_to_skip,
                       std::vector<std::string>& warnings) {
  if (is_chosen_by_user()) return machine_in(std::getenv("ASSAY_MACHINE"), warnings);
  if (!cached_machine(read_topology())) announce_measuring(how_to_skip, quiet);
  return cached_or_measured_machine(warnings, &progress);
}

}  // namespace assay::cli
