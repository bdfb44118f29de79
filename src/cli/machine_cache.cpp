#include "cli/machine_cache.h"

#include <fmt/core.h>

#include "assay/error.h"
#include "assay/machine_report.h"
#include "base/text.h"
#include "base/utc_time.h"
#include "cli/cache.h"

namespace assay::cli {

namespace {

std::optional<std::string> path_for(const Topology& topology) {
  return cache_path("machine", fingerprint(topology));
}

bool is_doubtful(const Machine& machine) {
  return !machine.ceilings.doubts.empty();
}

void warn_of_doubts(const Machine& machine, std::vector<std::string>& warnings) {
  if (!is_doubtful(machine)) return;
  warnings.push_back(
      fmt::format("when ceilings were measured ({}), {}: they may be too low; run "
                  "'assay machine --refresh' when nothing else runs",
                  machine.measured_at, join(machine.ceilings.doubts, "; ")));
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

void keep_machine(const Machine& machine, std::vector<std::string>& warnings) {
  if (is_doubtful(machine)) {
    const auto before = kept_machine(machine.topology);
    if (before && !is_doubtful(*before)) {
      warnings.push_back(
          fmt::format("{}: these ceilings may be too low and are not kept; those of "
                      "{} stay",
                      join(machine.ceilings.doubts, "; "), before->measured_at));
      return;
    }
    warn_of_doubts(machine, warnings);
  }
  std::string why_not =
      keep_text(path_for(machine.topology), machine_json(machine), "ceilings are");
  if (!why_not.empty()) warnings.push_back(std::move(why_not));
}

Machine measured_machine(Topology topology, const CeilingOptions& options, Progress& progress) {
  Machine machine{.measured_at = utc_now(), .topology = std::move(topology)};
  machine.ceilings = measure_ceilings(machine.topology, options, &progress);
  return machine;
}

Machine known_machine(Progress& progress, std::vector<std::string>& warnings) {
  Topology topology = read_topology();
  if (auto kept = kept_machine(topology)) {
    warn_of_doubts(*kept, warnings);
    return std::move(*kept);
  }
  Machine machine = measured_machine(std::move(topology), {}, progress);
  keep_machine(machine, warnings);
  return machine;
}

}  // namespace assay::cli
