#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "assay/stored_machine.h"
#include "base/fail.h"
#include "base/system_error.h"

namespace assay {

namespace {

std::string text_in(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail_bad_input("ASSAY_MACHINE={}: cannot be read: {}", path, last_system_error());
  std::stringstream text;
  text << file.rdbuf();
  if (text.view().empty()) {
    fail_bad_input("ASSAY_MACHINE={}: is empty; 'assay machine --json > FILE' writes one", path);
  }
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

}  // namespace

std::optional<std::filesystem::path> chosen_machine_file() {
  const char* path = std::getenv("ASSAY_MACHINE");
  if (path == nullptr || *path == '\0') return {};
  return path;
}

Machine chosen_machine(std::vector<std::string>& warnings, Progress* progress,
                       const std::function<void()>& before_measuring) {
  if (const auto path = chosen_machine_file()) return machine_in(path->string(), warnings);
  if (before_measuring && !cached_machine(read_topology())) before_measuring();
  return cached_or_measured_machine(warnings, progress);
}

Machine chosen_gpu(std::vector<std::string>& warnings, Progress* progress,
                   const std::function<void()>& before_measuring) {
  if (const auto path = chosen_machine_file()) {
    Machine machine = parse_machine_json(text_in(path->string()), path->string());
    if (!machine.gpu)
      fail_bad_input(
          "ASSAY_MACHINE={}: has no ceilings of a GPU; 'assay machine --json' writes "
          "them on a machine that has one",
          path->string());
    return machine;
  }
  Machine machine;
  const auto found = find_gpu();
  if (found && before_measuring && !cached_gpu(*found)) before_measuring();
  machine.gpu = cached_or_measured_gpu(warnings, progress);
  return machine;
}

}  // namespace assay
