#include "sweep/this_host.h"

#include <unistd.h>

#include <array>

#include "assay/stored_machine.h"
#include "sweep/isolated.h"

namespace assay::sweep {

namespace {

std::string host_name() {
  std::array<char, 256> text = {};
  return ::gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "unknown";
}

bool needs_ceilings(const SweepConfig& config) {
  return !config.memory_bandwidth_gbps || !config.peak_compute_gmacs;
}

}  // namespace

SweepHost this_host() {
  const Topology topology = read_topology();
  SweepHost host{.host = host_name(),
                 .processor = topology.processor,
                 .processors = static_cast<int>(topology.usable.size()),
                 .fingerprint = fingerprint(topology)};
  if (const auto machine = cached_machine(topology)) {
    host.peak_gflops = peak_gflops(machine->ceilings, "fp32", host.processors);
    host.bandwidth_gbps = bandwidth_gbps(machine->ceilings, "DRAM", "read", host.processors);
  }
  return host;
}

void measure_ceilings_if_needed(const SweepConfig& config, Progress* progress,
                                std::vector<std::string>& warnings) {
  constexpr double kPatience = 120;
  if (!needs_ceilings(config) || cached_machine(read_topology())) return;
  const IsolatedEnd end = run_isolated(
      [](Progress& inner) {
        std::vector<std::string> noted;
        cached_or_measured_machine(noted, &inner);
        return std::string();
      },
      {.seconds = kPatience}, progress, true);
  if (end.kind == IsolatedEnd::Kind::Failed) {
    warnings.push_back("this machine's ceilings could not be measured: " + end.text);
  }
}

}  // namespace assay::sweep
