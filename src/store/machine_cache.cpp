#include <fmt/core.h>

#include "assay/error.h"
#include "assay/machine_report.h"
#include "assay/stored_machine.h"
#include "base/cache_file.h"
#include "base/text.h"
#include "base/utc_time.h"

namespace assay {

namespace {

std::optional<std::string> path_for(const Topology& topology) {
  return cache_path("machine", fingerprint(topology));
}

bool is_disturbed(const Machine& machine) {
  return !machine.ceilings.warnings.empty();
}

std::optional<std::string> path_for(const Gpu& gpu) {
  return cache_path("gpu", fingerprint(gpu));
}

void warn_if_doubtful(const Gpu& gpu, std::vector<std::string>& warnings) {
  if (gpu.ceilings.warnings.empty()) return;
  warnings.push_back(fmt::format("of the GPU's ceilings ({}): {}; call `measure_machine` again",
                                 gpu.measured_at, join(gpu.ceilings.warnings, "; ")));
}

}  // namespace

void warn_if_disturbed(const Machine& machine, std::vector<std::string>& warnings) {
  if (!is_disturbed(machine)) return;
  warnings.push_back(
      fmt::format("when ceilings were measured ({}), {}: they may be too low; call "
                  "`measure_machine` again when nothing else runs",
                  machine.measured_at, join(machine.ceilings.warnings, "; ")));
}

Machine measure_machine(const CeilingOptions& options, Progress* progress) {
  Machine machine{.measured_at = utc_now(), .topology = read_topology()};
  machine.ceilings = measure_ceilings(machine.topology, options, progress);
  return machine;
}

std::optional<Machine> cached_machine(const Topology& topology) {
  const auto path = path_for(topology);
  const auto text = read_cache(path);
  if (!text) return {};
  try {
    Machine machine = parse_machine_json(*text, *path);
    if (fingerprint(machine.topology) != fingerprint(topology)) return {};
    return machine;
  } catch (const Error&) {
    return {};  // it is measured again, and the file written again
  }
}

void cache_machine(const Machine& machine, std::vector<std::string>& warnings) {
  if (is_disturbed(machine)) {
    const auto before = cached_machine(machine.topology);
    if (before && !is_disturbed(*before)) {
      warnings.push_back(
          fmt::format("{}: these ceilings may be too low and are not cached; those of {} stay",
                      join(machine.ceilings.warnings, "; "), before->measured_at));
      return;
    }
    warn_if_disturbed(machine, warnings);
  }
  std::string why_not =
      write_cache(path_for(machine.topology), machine_json(machine), "ceilings are");
  if (!why_not.empty()) warnings.push_back(std::move(why_not));
}

Machine cached_or_measured_machine(std::vector<std::string>& warnings, Progress* progress) {
  const Topology topology = read_topology();
  if (auto cached = cached_machine(topology)) {
    warn_if_disturbed(*cached, warnings);
    return std::move(*cached);
  }
  Machine machine = measure_machine({}, progress);
  cache_machine(machine, warnings);
  return machine;
}

Gpu measure_gpu(Gpu found, const CeilingOptions& options, Progress* progress) {
  found.measured_at = utc_now();
  found.ceilings = measure_gpu_ceilings(options, progress);
  return found;
}

// A file of the cache is one of a machine that has nothing but the GPU.
std::optional<Gpu> cached_gpu(const Gpu& found) {
  const auto path = path_for(found);
  const auto text = read_cache(path);
  if (!text) return {};
  try {
    auto gpu = parse_machine_json(*text, *path).gpu;
    if (!gpu || fingerprint(*gpu) != fingerprint(found)) return {};
    return gpu;
  } catch (const Error&) {
    return {};  // it is measured again, and the file written again
  }
}

void cache_gpu(const Gpu& gpu, std::vector<std::string>& warnings) {
  warn_if_doubtful(gpu, warnings);
  std::string why_not =
      write_cache(path_for(gpu), machine_json({.gpu = gpu}), "the GPU's ceilings are");
  if (!why_not.empty()) warnings.push_back(std::move(why_not));
}

std::optional<Gpu> cached_or_measured_gpu(std::vector<std::string>& warnings, Progress* progress) {
  const auto found = find_gpu();
  if (!found) return {};
  if (auto cached = cached_gpu(*found)) {
    warn_if_doubtful(*cached, warnings);
    return cached;
  }
  Gpu gpu = measure_gpu(*found, {}, progress);
  cache_gpu(gpu, warnings);
  return gpu;
}

}  // namespace assay
