#include "assay/roofline.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay {

namespace {

constexpr double kPerMillisecond = 1e6;  // of a rate in 10⁹ per second

// A rate for `threads` threads, from the rates of one thread and of all: more threads are never
// slower, and N threads are at most N times as fast as one.
template <typename RateFor>
std::optional<double> scaled(const RateFor& rate_for, int threads, int all_threads) {
  const std::optional<double> one = rate_for(1);
  const std::optional<double> all = rate_for(all_threads);
  if (!one || threads <= 1) return one ? one : all;
  if (!all || *all <= *one) return one;
  return threads >= all_threads ? *all : std::min(*one * threads, *all);
}

int all_threads_of(const Machine& machine) {
  return std::max(1, static_cast<int>(machine.topology.usable.size()));
}

std::optional<double> peak_for(const Machine& machine, const std::string& precision, int threads) {
  return scaled([&](int count) { return peak_gflops(machine.ceilings, precision, count); }, threads,
                all_threads_of(machine));
}

bool uses_tiles(const Peak& peak) {
  return peak.instruction_set.starts_with("AMX");
}

Machine without_tiles(Machine machine) {
  std::erase_if(machine.ceilings.peaks, uses_tiles);
  return machine;
}

// All peaks of a precision, with and without tiles, and which instruction set reaches the best.
void add_peaks(const Machine& machine, Roofline& roofline) {
  const Machine vectors = without_tiles(machine);
  for (const Peak& one : machine.ceilings.peaks) {
    const auto best = peak_for(machine, one.precision, roofline.threads);
    if (best) roofline.peaks_gflops[one.precision] = *best;
    const auto of_vectors = peak_for(vectors, one.precision, roofline.threads);
    if (of_vectors) roofline.vector_peaks_gflops[one.precision] = *of_vectors;
    if (one.gflops == peak_gflops(machine.ceilings, one.precision, one.threads))
      roofline.instruction_sets[one.precision] = one.instruction_set;
  }
}

std::optional<double> best_access(const Machine& machine, const std::string& level, int threads,
                                  const std::vector<std::string>& accesses) {
  std::optional<double> best;
  for (const std::string& access : accesses) {
    const auto rate =
        scaled([&](int count) { return bandwidth_gbps(machine.ceilings, level, access, count); },
               threads, all_threads_of(machine));
    if (rate) best = std::max(best.value_or(0), *rate);
  }
  return best;
}

std::optional<MemoryRoof> roof_of(const Machine& machine, const std::string& level,
                                  std::int64_t bytes, int threads) {
  const std::vector<std::string> reading = {"read"};
  const std::vector<std::string> writing = {"write", "write-nt"};
  const auto read = best_access(machine, level, threads, reading);
  if (!read) return {};
  const auto write = best_access(machine, level, threads, writing);
  const auto both =
      best_access(machine, level, threads,
                  {"read", "write", "copy", "triad", "write-nt", "copy-nt", "triad-nt"});
  return MemoryRoof{.level = level,
                    .bytes = bytes,
                    .read_gbps = *read,
                    .write_gbps = write.value_or(both.value_or(*read)),
                    .combined_gbps = both.value_or(*read)};
}

// The capacity of all caches of this level that `threads` threads use, one thread per core.
std::int64_t capacity_for(const CacheLevel& cache, int threads, int processors) {
  const int there = std::max(1, processors / std::max(1, cache.processors));
  return cache.bytes * std::clamp(threads, 1, there);
}

// The share of bytes, reused after `reuse_distance` other bytes, that miss a cache of `capacity`.
double share_missed(double reuse_distance, double capacity) {
  return reuse_distance > capacity ? 1 - capacity / reuse_distance : 0.0;
}

double level_time(const MemoryRoof& roof, double read, double written) {
  return std::max({read / roof.read_gbps, written / roof.write_gbps,
                   (read + written) / roof.combined_gbps}) /
         kPerMillisecond;
}

}  // namespace

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::Compute:
      return "compute";
    case Bound::Memory:
      return "memory";
    case Bound::Overhead:
      return "overhead";
  }
  return "overhead";
}

std::optional<Roofline> roofline_of(const Machine& machine, int threads,
                                    const std::string& precision) {
  Roofline roofline{
      .processor = machine.topology.processor, .threads = threads, .precision = precision};
  const auto peak = peak_for(machine, precision, threads);
  if (!peak) return {};
  roofline.peak_gflops = *peak;
  roofline.int8_peak_gflops = peak_for(machine, "int8", threads);
  add_peaks(machine, roofline);
  roofline.instruction_set = roofline.instruction_sets[precision];
  for (const CacheLevel& cache : machine.topology.caches) {
    const auto roof = roof_of(machine, fmt::format("L{}", cache.level),
                              capacity_for(cache, threads, machine.topology.processors), threads);
    if (roof) roofline.levels.push_back(*roof);
  }
  const auto memory = roof_of(machine, "DRAM", 0, threads);
  if (!memory) return {};
  roofline.levels.push_back(*memory);
  return roofline;
}

namespace {

std::optional<MemoryRoof> gpu_roof(const Ceilings& ceilings, const std::string& level,
                                   std::int64_t bytes) {
  const auto read = bandwidth_gbps(ceilings, level, "read", 1);
  const auto write = bandwidth_gbps(ceilings, level, "write", 1);
  if (!read || !write) return {};
  const double copy = bandwidth_gbps(ceilings, level, "copy", 1).value_or(0);
  return MemoryRoof{.level = level,
                    .bytes = bytes,
                    .read_gbps = *read,
                    .write_gbps = *write,
                    .combined_gbps = std::max({*read, *write, copy})};
}

}  // namespace

std::optional<Roofline> roofline_of(const Gpu& gpu, const std::string& precision) {
  Roofline roofline{.processor = gpu.name, .device = "cuda", .threads = 0, .precision = precision};
  for (const Peak& peak : gpu.ceilings.peaks) {
    double& best = roofline.peaks_gflops[peak.precision];
    if (peak.gflops <= best) continue;
    best = peak.gflops;
    roofline.instruction_sets[peak.precision] = peak.instruction_set;
  }
  const auto peak = roofline.peaks_gflops.find(precision);
  if (peak == roofline.peaks_gflops.end()) return {};
  roofline.peak_gflops = peak->second;
  roofline.instruction_set = roofline.instruction_sets[precision];
  roofline.int8_peak_gflops = peak_gflops(gpu.ceilings, "int8", 1);
  if (const auto cache = gpu_roof(gpu.ceilings, "L2", gpu.cache_bytes))
    roofline.levels.push_back(*cache);
  const auto memory = gpu_roof(gpu.ceilings, "HBM", 0);
  if (!memory) return {};
  roofline.levels.push_back(*memory);
  return roofline;
}

std::optional<double> peak_gflops(const Roofline& roofline, const std::string& precision) {
  if (precision == roofline.precision) return roofline.peak_gflops;
  if (precision == "int8") return roofline.int8_peak_gflops;
  const auto found = roofline.peaks_gflops.find(precision);
  return found == roofline.peaks_gflops.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> peak_gflops(const Roofline& roofline, const std::string& precision,
                                  const std::string& isa) {
  const auto vectors = roofline.vector_peaks_gflops.find(precision);
  const bool is_vector = !isa.empty() && isa != "amx";
  if (is_vector && vectors != roofline.vector_peaks_gflops.end()) return vectors->second;
  return peak_gflops(roofline, precision);
}

namespace {

double compute_ms(const StepWork& work, const Roofline& roofline) {
  const auto peak =
      peak_gflops(roofline, work.precision.empty() ? roofline.precision : work.precision, work.isa);
  return peak ? work.flops / *peak / kPerMillisecond : 0;
}

}  // namespace

LeastTime least_time(const StepWork& work, const Roofline& roofline) {
  LeastTime least{.compute_ms = compute_ms(work, roofline)};
  const double step_bytes = work.read_bytes + work.written_bytes;
  double capacity = 0;  // of the next nearer level
  for (const MemoryRoof& roof : roofline.levels) {
    const double of_weights = share_missed(work.run_bytes, capacity);
    const double of_operands = share_missed(step_bytes, capacity);
    const double time =
        level_time(roof, work.weight_bytes * of_weights + work.read_bytes * of_operands,
                   work.written_bytes * of_operands);
    if (time > least.memory_ms) {
      least.memory_ms = time;
      least.level = roof.level;
    }
    capacity = static_cast<double>(roof.bytes);
  }
  return least;
}

}  // namespace assay
