// Reads the output of machine_json. The file is untrusted: every field is checked.
#include "assay/stored_machine.h"
#include "store/json_reader.h"

namespace assay {

using namespace assay::store;

namespace {

constexpr ResultKind kMachine = {
    .name = "machine", .schema = "assay.machine/1", .command = "assay machine --json"};

Topology topology_of(const JsonReader& reader) {
  Topology topology;
  topology.processor = reader.text("topology/processor");
  topology.packages = reader.small_count("topology/packages");
  topology.cores = reader.small_count("topology/cores");
  topology.processors = reader.small_count("topology/processors");
  topology.numa_nodes = reader.small_count("topology/numa_nodes");
  topology.memory_bytes = reader.count("topology/memory_bytes");
  topology.usable = reader.small_counts("topology/usable");
  reader.each("topology/caches", [&](const JsonReader& cache) {
    topology.caches.push_back({.level = cache.small_count("level"),
                               .bytes = cache.count("bytes"),
                               .processors = cache.small_count("processors")});
  });
  return topology;
}

Surroundings surroundings_of(const JsonReader& reader) {
  Surroundings around;
  around.governor = reader.text_or_null("surroundings/governor");
  around.hypervisor = reader.text_or_null("surroundings/hypervisor");
  around.is_container = reader.flag("surroundings/container");
  return around;
}

// The one of `all` that the text names; otherwise an Error that names the field.
template <typename Enum>
Enum named(const JsonReader& reader, const char* path, std::initializer_list<Enum> all) {
  const std::string text = reader.text(path);
  for (const Enum one : all) {
    if (name(one) == text) return one;
  }
  reader.refuse(path, "a word that assay knows");
}

MeterInfo meter_of(const JsonReader& reader) {
  MeterInfo meter = {.source = reader.text("source"),
                     .kind = named(reader, "kind", {MeterKind::Energy, MeterKind::Power}),
                     .scope = named(reader, "scope",
                                    {MeterScope::Processor, MeterScope::Board,
                                     MeterScope::Accelerator, MeterScope::Other}),
                     .update_ms = reader.rate("update_ms")};
  reader.each("channels", [&](const JsonReader& channel) {
    meter.channels.push_back({.name = channel.text("name"), .is_counted = channel.flag("counted")});
  });
  return meter;
}

Instruments instruments_of(const JsonReader& reader) {
  Instruments instruments;
  reader.each("meters",
              [&](const JsonReader& meter) { instruments.meters.push_back(meter_of(meter)); });
  instruments.meter_notes = reader.texts("meter_notes");
  instruments.counters = reader.texts("counters/events");
  instruments.has_hardware_counters = reader.flag("counters/available");
  instruments.why_not_counters = reader.text_or_null("counters/why_not");
  return instruments;
}

// Older files have no spread.
double spread_of(const JsonReader& reader) {
  return reader.has("spread") ? reader.at_least_zero("spread") : 0;
}

Ceilings ceilings_of(const JsonReader& reader) {
  Ceilings ceilings;
  reader.each("peaks", [&](const JsonReader& peak) {
    ceilings.peaks.push_back({.precision = peak.text("precision"),
                              .instruction_set = peak.text("instruction_set"),
                              .threads = peak.small_count("threads"),
                              .gflops = peak.rate("gflops"),
                              .spread = spread_of(peak)});
  });
  reader.each("bandwidths", [&](const JsonReader& one) {
    ceilings.bandwidths.push_back({.level = one.text("level"),
                                   .access = one.text("access"),
                                   .threads = one.small_count("threads"),
                                   .bytes = one.count("bytes"),
                                   .gbps = one.rate("gbps"),
                                   .spread = spread_of(one)});
  });
  ceilings.seconds = reader.at_least_zero("measuring_seconds");
  ceilings.warnings = reader.texts("doubts");
  return ceilings;
}

// Older files have none.
std::optional<ProcessSpread> process_spread_of(const JsonReader& reader) {
  if (!reader.has("process_spread") || reader.at("process_spread").is_null()) return {};
  return ProcessSpread{.deviation = reader.at_least_zero("process_spread/deviation"),
                       .processes = reader.small_count("process_spread/processes")};
}

// Older files have none.
std::optional<Gpu> gpu_of(const JsonReader& reader) {
  if (!reader.has("gpu") || reader.at("gpu").is_null()) return {};
  const JsonReader gpu(reader.at("gpu"), reader.file());
  return Gpu{.measured_at = gpu.text("measured_at"),
             .name = gpu.text("name"),
             .libraries = gpu.text("libraries"),
             .compute_capability = gpu.small_count("compute_capability"),
             .multiprocessors = gpu.small_count("multiprocessors"),
             .clock_mhz = gpu.small_count("clock_mhz"),
             .cache_bytes = gpu.count("cache_bytes"),
             .memory_bytes = gpu.count("memory_bytes"),
             .ceilings = ceilings_of(gpu)};
}

}  // namespace

Machine parse_machine_json(std::string_view text, const std::string& described_as) {
  const StoredResult file(text, described_as, kMachine);
  const JsonReader reader = file.reader();
  return {.measured_at = reader.text("measured_at"),
          .topology = topology_of(reader),
          .surroundings = surroundings_of(reader),
          .instruments = instruments_of(reader),
          .ceilings = ceilings_of(reader),
          .process_spread = process_spread_of(reader),
          .gpu = gpu_of(reader)};
}

}  // namespace assay
