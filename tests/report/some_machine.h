// A machine with every field set, for tests of writing and of reading.
#pragma once

#include "assay/machine.h"

namespace assay {

inline Machine some_machine() {
  Machine machine;
  machine.measured_at = "2026-11-15T20:51:49Z";
  machine.topology = {.processor = "Some processor",
                      .packages = 1,
                      .cores = 2,
                      .processors = 4,
                      .usable = {0, 2, 1},
                      .numa_nodes = 1,
                      .memory_bytes = std::int64_t{8} << 30,
                      .caches = {{1, 32 << 10, 2}, {2, 1 << 20, 4}}};
  machine.surroundings = {.hypervisor = "kvm", .is_container = true, .notes = {"no cpufreq"}};
  machine.instruments = {
      .meters = {{.source = "RAPL",
                  .channels = {{.name = "package-0"}, {.name = "psys", .is_counted = false}},
                  .update_ms = 2}},
      .meter_notes = {"NVML, GPU 0: NVML says 'Not Supported'"},
      .counters = {"cycles", "page-faults"},
      .has_hardware_counters = true,
      .why_not_counters = "cache-misses: the processor shows no such counter"};
  machine.ceilings = {
      .peaks = {{"fp32", "AVX2 FMA", 1, 111.5, 0.015}, {"fp32", "AVX2 FMA", 3, 300.25}},
      .bandwidths = {{"L1", "read", 1, 16384, 200},
                     {"L1", "read", 3, 49152, 600, 0.125},
                     {"DRAM", "read", 3, 1 << 20, 20}},
      .seconds = 7.5,
      .warnings = {"other programs used 30 %"}};
  machine.process_spread = {.deviation = 0.0215, .processes = 12};
  return machine;
}

}  // namespace assay
