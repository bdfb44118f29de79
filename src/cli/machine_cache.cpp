#include "cli/machine_cache.h"

#include <fmt/format.h>

#include "assay/error.h"
#include "assay/machine_report.h"
#include "base/utc_time.h"
#include "cli/cache.h"

namespace assay::cli {

namespace {

std::optional<std::string> path_for(const Topology& topology) {
  return cache_path("machine", fingerprint(topology));
}

}  // namespace

std::optional<Machine> kept_machine(const Topology& topology) {
  const auto path = path_for(topology);
  const auto text = kept_text(path);
  if (!text) return {};
  try {
    Machine machine = parse_machine_json(*text, *path);
    if (fingerprint(machine.topology) != fingerprint(topology)) return {};
    return machine;
  } catch (const Error&) {
    return {};  // it is measured again, and the file made anew
  }
}

std::string keep_machine(const Machine& machine) {
  return keep_text(path_for(machine.topology), machine_json(machine), "ceilings are");
}

Machine measured_machine(Topology topology, const CeilingOptions& options, Progress& progress) {
  Machine machine{.measured_at = utc_now(), .topology = std::move(topology)};
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
