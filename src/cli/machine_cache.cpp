#include "cli/machine_cache.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/error.h"
#include "assay/machine_report.h"
#include "base/atomic_file.h"

namespace assay::cli {

namespace {

// $XDG_CACHE_HOME/assay, or ~/.cache/assay.
std::optional<std::filesystem::path> cache_folder() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : nullptr;
  };
  if (const char* cache = set("XDG_CACHE_HOME")) return std::filesystem::path(cache) / "assay";
  if (const char* home = set("HOME")) return std::filesystem::path(home) / ".cache" / "assay";
  return {};
}

// FNV-1a: short, and the same on every machine.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::optional<std::filesystem::path> file_for(const Topology& topology) {
  const auto folder = cache_folder();
  if (!folder) return {};
  return *folder / fmt::format("machine-{:016x}.json", hash_of(fingerprint(topology)));
}

}  // namespace

std::optional<Machine> kept_machine(const Topology& topology) {
  const auto path = file_for(topology);
  if (!path) return {};
  std::ifstream file(*path);
  if (!file) return {};
  std::stringstream text;
  text << file.rdbuf();
  try {
    Machine machine = parse_machine_json(text.str(), path->string());
    if (fingerprint(machine.topology) != fingerprint(topology)) return {};
    return machine;
  } catch (const Error&) {
    return {};  // it is measured again, and the file made anew
  }
}

std::string keep_machine(const Machine& machine) {
  const auto path = file_for(machine.topology);
  if (!path) return "neither XDG_CACHE_HOME nor HOME is set: ceilings are not kept for next time";
  try {
    std::error_code failed;
    std::filesystem::create_directories(path->parent_path(), failed);
    AtomicFile file(*path);
    file.write(machine_json(machine));
    file.commit();
    return "";
  } catch (const Error& error) {
    return fmt::format("ceilings are not kept for next time: {}", error.what());
  }
}

Machine measured_machine(Topology topology, const CeilingOptions& options, Progress& progress) {
  const std::time_t now = std::time(nullptr);
  Machine machine{.measured_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)),
                  .topology = std::move(topology)};
  machine.ceilings = measure_ceilings(machine.topology, options, &progress);
  return machine;
}

Machine known_machine(Progress& progress, std::vector<std::string>& warnings) {
  Topology topology = read_topology();
  if (auto kept = kept_machine(topology)) return std::move(*kept);
  Machine machine = measured_machine(std::move(topology), {}, progress);
  if (std::string why_not = keep_machine(machine); !why_not.empty()) {
    warnings.push_back(std::move(why_not));
  }
  return machine;
}

}  // namespace assay::cli
