// This machine and its limits: processor, caches and environment as the system reports them,
// ceilings as measured by short kernels. A ceiling is the best of many tries, because other load on
// the machine can only lower it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/energy_meter.h"
#include "assay/progress.h"
#include "assay/timing.h"

namespace assay {

struct CacheLevel {
  int level = 1;           // 1 is the nearest
  std::int64_t bytes = 0;  // of one such cache; data or unified
  int processors = 1;      // that share one
};

struct Topology {
  std::string processor;  // "Intel(R) Xeon(R) Processor @ 2.80GHz"
  int packages = 1;
  int cores = 1;
  int processors = 1;            // hardware threads
  std::vector<int> usable = {};  // the system's numbers of those that this process may run on, one
                                 // of each core first
  int numa_nodes = 1;
  std::int64_t memory_bytes = 0;
  std::vector<CacheLevel> caches = {};  // nearest first
};

// What may affect timings; missing where the system does not report it.
struct Surroundings {
  std::optional<std::string> governor = {};    // of the processor's frequency
  std::optional<std::string> hypervisor = {};  // "kvm"; absent on bare metal as well
  bool is_container = false;
  std::optional<double> load = {};      // processes that wanted to run in the last minute
  std::vector<std::string> notes = {};  // what is not available, and why
};

// Meters and counters that can be read during a run, or why not.
struct Instruments {
  std::vector<MeterInfo> meters = {};         // of energy
  std::vector<std::string> meter_notes = {};  // what cannot be used, and why; why there is none
  std::vector<std::string> counters = {};     // "cycles", …: the events that can be counted
  bool has_hardware_counters = false;
  std::optional<std::string> why_not_counters = {};  // where some cannot be read
};

struct Peak {
  std::string precision;        // "fp32", "fp16", "bf16", "int16", "int8"
  std::string instruction_set;  // "AVX-512 VNNI"
  int threads = 1;
  double gflops = 0;  // of int8: 10⁹ integer operations per second
  double spread = 0;  // how much longer the median try took than the best: 0.02 is 2 %
};

struct Bandwidth {
  std::string level;   // "L1", "L2", "L3", "DRAM"
  std::string access;  // "read", "write", "copy", "triad"; "write-nt", … bypass the caches
  int threads = 1;
  std::int64_t bytes = 0;  // that all threads work on together
  double gbps = 0;
  double spread = 0;  // as of a peak
};

struct Ceilings {
  std::vector<Peak> peaks;
  std::vector<Bandwidth> bandwidths;
  double seconds = 0;                      // spent measuring
  std::vector<std::string> warnings = {};  // load that may have lowered them
};

// How much the median of one model differs between fresh processes: their memory layout, the
// algorithms they choose, what else the machine does at the time.
struct ProcessSpread {
  double deviation = 0;  // standard deviation relative to the median, at its upper 90 % limit
  int processes = 0;     // that it was measured with
};

// From the medians that processes measured; nothing from fewer than three.
std::optional<ProcessSpread> process_spread(const std::vector<double>& medians);

// The GPU that engines use, and its limits. Its ceilings have 1 thread: all of it works at once.
// Levels are "L2" and "HBM" (its memory, of whatever kind); instruction sets are "CUDA cores",
// "tensor cores" and "cuBLASLt", whose products may use others.
struct Gpu {
  std::string measured_at = "";
  std::string name = "";       // "NVIDIA H200"
  std::string libraries = "";  // "CUDA 13.0, cuBLASLt 13.1.0, cuDNN 9.19.0"
  int compute_capability = 0;  // 90: 9.0
  int multiprocessors = 0;
  int clock_mhz = 0;             // the highest
  std::int64_t cache_bytes = 0;  // L2
  std::int64_t memory_bytes = 0;
  Ceilings ceilings = {};
};

struct Machine {
  std::string measured_at = "";  // 2026-11-15T20:51:49Z
  Topology topology = {};
  Surroundings surroundings = {};
  Instruments instruments = {};
  Ceilings ceilings = {};
  std::optional<ProcessSpread> process_spread = {};  // missing where it was not measured
  std::optional<Gpu> gpu = {};                       // missing where there is none
};

struct CeilingOptions {
  bool quick = false;                         // one round, no copies; 1.5 s for each thread count
  std::vector<int> thread_counts = {};        // empty: one, and all usable processors
  std::optional<std::string> precision = {};  // one alone
  // Approximate time to measure, by default 12. Buffer sizes, tries and rounds follow from it.
  std::optional<double> seconds = {};
};

// Approximate duration.
double seconds_to_measure(const CeilingOptions& options);

Topology read_topology();
// `root` stands in for "/" in tests.
Surroundings read_surroundings(const std::string& root = "");
Instruments find_instruments(const std::string& root = "");

// Nothing if there is no GPU that engines can use. Ceilings are empty.
std::optional<Gpu> find_gpu();
// Why there is none; empty if there is one.
std::string why_no_gpu();

// Throws an Error of kind Cancelled if `progress` cancels.
Ceilings measure_ceilings(const Topology& topology, const CeilingOptions& options = {},
                          Progress* progress = nullptr, MachineState& state = this_machine());

// Of the GPU that `find_gpu` found; takes a few seconds, and throws likewise. What cannot be
// measured there is missing, with a warning that says why.
Ceilings measure_gpu_ceilings(const CeilingOptions& options = {}, Progress* progress = nullptr);

// What is read before and after a measurement on a device ("cpu", "cuda").
MachineState& machine_state_for(std::string_view device);

// The better of both for everything that either has.
Ceilings better_of(Ceilings some, const Ceilings& others);

// Identifies what ceilings depend on: processor, caches, usable processors, available kernels.
// Machines with equal fingerprints can share ceilings.
std::string fingerprint(const Topology& topology);
std::string fingerprint(const Gpu& gpu);  // likewise: the device and its libraries

// The best that was measured; nothing if none was.
std::optional<double> peak_gflops(const Ceilings& ceilings, const std::string& precision,
                                  int threads);
std::optional<double> bandwidth_gbps(const Ceilings& ceilings, const std::string& level,
                                     const std::string& access, int threads);

}  // namespace assay
