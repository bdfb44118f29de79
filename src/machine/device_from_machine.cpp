#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "assay/device.h"
#include "assay/device_list.h"

namespace assay {

namespace {

Figure measured(double value, std::string source) {
  return {.value = value, .source = std::move(source), .provenance = FigureProvenance::Measured};
}

int most_threads(const Ceilings& ceilings) {
  int most = 1;
  for (const Peak& peak : ceilings.peaks) most = std::max(most, peak.threads);
  for (const Bandwidth& one : ceilings.bandwidths) most = std::max(most, one.threads);
  return most;
}

class Measurements {
 public:
  Measurements(const Ceilings& ceilings, const std::string& measured_at)
      : ceilings_(ceilings),
        threads_(most_threads(ceilings)),
        told_("assay machine, " + measured_at) {}

  // Reported by the system itself, so it counts as measured.
  Figures told(std::int64_t value) const {
    if (value <= 0) return {};
    return {measured(static_cast<double>(value), told_)};
  }

  Figures peak(const std::string& precision) const {
    return best_of("best instruction set",
                   [&](int threads) { return peak_gflops(ceilings_, precision, threads); });
  }

  Figures reading(const std::string& level) const {
    return best_of("reading",
                   [&](int threads) { return bandwidth_gbps(ceilings_, level, "read", threads); });
  }

 private:
  // Of all threads and of one: more threads are never slower, as roofline_of() has it.
  template <typename RateFor>
  Figures best_of(std::string_view what, const RateFor& rate_for) const {
    const std::optional<double> all = rate_for(threads_);
    const std::optional<double> one = rate_for(1);
    if (!all) return {};
    if (one && *one > *all) return {measured(*one, with_threads(what, 1))};
    return {measured(*all, with_threads(what, threads_))};
  }

  std::string with_threads(std::string_view what, int threads) const {
    return fmt::format("{}, {}, {} thread{}", told_, what, threads, threads == 1 ? "" : "s");
  }

  const Ceilings& ceilings_;
  int threads_ = 1;
  std::string told_;
};

// The system counts hardware threads, a device its cores.
int cores_sharing(const CacheLevel& cache, const Topology& topology) {
  const int threads_of_a_core = std::max(1, topology.processors / std::max(1, topology.cores));
  return std::max(1, cache.processors / threads_of_a_core);
}

std::vector<DeviceCache> caches_of(const Topology& topology, const Measurements& measurements) {
  std::vector<DeviceCache> caches;
  for (const CacheLevel& cache : topology.caches) {
    caches.push_back({.level = cache.level,
                      .shared_by = cores_sharing(cache, topology),
                      .bytes = measurements.told(cache.bytes),
                      .bandwidth_gbps = measurements.reading(fmt::format("L{}", cache.level))});
  }
  return caches;
}

void set_peaks(Device& device, const Measurements& measurements) {
  for (const std::string& precision : device_precisions()) {
    if (auto peaks = measurements.peak(precision); !peaks.empty()) {
      device.peaks[precision] = std::move(peaks);
    }
  }
}

}  // namespace

Device device_from_machine(const Machine& machine, const std::string& id) {
  const Measurements measurements(machine.ceilings, machine.measured_at);
  Device device;
  device.name = machine.topology.processor;
  device.id = device_id(id.empty() ? device.name : id);
  device.kind = DeviceKind::Machine;
  device.cores = measurements.told(machine.topology.cores);
  device.memory_bytes = measurements.told(machine.topology.memory_bytes);
  device.memory_bandwidth_gbps = measurements.reading("DRAM");
  device.caches = caches_of(machine.topology, measurements);
  set_peaks(device, measurements);
  return device;
}

Device device_from_gpu(const Gpu& gpu, const std::string& id) {
  const Measurements measurements(gpu.ceilings, gpu.measured_at);
  Device device;
  device.id = device_id(id);
  device.name = gpu.name;
  device.kind = DeviceKind::Gpu;
  device.cores = measurements.told(gpu.multiprocessors);
  device.memory_bytes = measurements.told(gpu.memory_bytes);
  device.memory_bandwidth_gbps = measurements.reading("HBM");
  device.caches = {{.level = 2,
                    .shared_by = {},
                    .bytes = measurements.told(gpu.cache_bytes),
                    .bandwidth_gbps = measurements.reading("L2")}};
  set_peaks(device, measurements);
  return device;
}

}  // namespace assay
