// What a machine allows: the least time in which given arithmetic and bytes can be done.
//
// Each level of memory serves at most what fits into it, whatever the order of accesses: bytes
// whose reuse distance exceeds the capacity of a cache come partly from the next level. The least
// time is the longest of the times for arithmetic and for each level; nothing can be faster.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/machine.h"

namespace assay {

// What limits a step: arithmetic, memory traffic, or neither, because starting it takes longer.
enum class Bound { Compute, Memory, Overhead };
std::string_view name(Bound bound);  // "compute", "memory", "overhead"

// One level, for as many threads as the roofline is for.
struct MemoryRoof {
  std::string level;         // "L1", "L2", "L3", "DRAM"; "HBM" of a GPU
  std::int64_t bytes = 0;    // capacity; 0 for main memory
  double read_gbps = 0;      // the best of reading alone
  double write_gbps = 0;     // the best of writing alone
  double combined_gbps = 0;  // the best of any access
};

struct Roofline {
  std::string processor = "";  // empty if unknown
  std::string device = "cpu";  // whose steps it is for
  int threads = 1;             // 0 of a GPU
  std::string precision = "fp32";
  std::string instruction_set = "";  // that reaches the peak
  double peak_gflops = 0;
  std::optional<double> int8_peak_gflops = {};      // missing where it was not measured
  std::map<std::string, double> peaks_gflops = {};  // of every precision that was measured
  // Of those, without tile instructions (AMX): few algorithms suit tiles, so what runs on vectors
  // is compared with the best of vectors.
  std::map<std::string, double> vector_peaks_gflops = {};
  std::map<std::string, std::string> instruction_sets = {};  // that reach the peaks, by precision
  std::vector<MemoryRoof> levels = {};                       // nearest first, memory last
  double step_overhead_ms = 0;  // that starting and ending a step takes
};

// Nothing if the machine has no peak of the precision, or no bandwidth of memory.
std::optional<Roofline> roofline_of(const Machine& machine, int threads,
                                    const std::string& precision = "fp32");

// Of a GPU, likewise.
std::optional<Roofline> roofline_of(const Gpu& gpu, const std::string& precision = "fp32");

// Nothing if none was measured.
std::optional<double> peak_gflops(const Roofline& roofline, const std::string& precision);
// For arithmetic by the instruction set `isa` (StepInfo): tiles or vectors; empty: the best of
// both.
std::optional<double> peak_gflops(const Roofline& roofline, const std::string& precision,
                                  const std::string& isa);

struct StepWork {
  double flops = 0;            // executed
  double weight_bytes = 0;     // read, and not again before the next run
  double read_bytes = 0;       // operands
  double written_bytes = 0;    // results
  double run_bytes = 0;        // distinct bytes that a whole run touches
  std::string precision = "";  // of the arithmetic; empty: the one that the roofline is for
  std::string isa = "";        // as of StepInfo; empty: the best there is

  double bytes() const { return weight_bytes + read_bytes + written_bytes; }
};

struct LeastTime {
  double compute_ms = 0;
  double memory_ms = 0;
  std::string level = "";  // the one that `memory_ms` comes from

  double limit_ms() const { return compute_ms > memory_ms ? compute_ms : memory_ms; }
  Bound bound() const { return compute_ms >= memory_ms ? Bound::Compute : Bound::Memory; }
};
// Arithmetic in a precision whose peak is not known takes no time here: memory alone bounds it.
LeastTime least_time(const StepWork& work, const Roofline& roofline);

}  // namespace assay
