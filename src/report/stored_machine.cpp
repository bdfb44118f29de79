// Reads back what machine_json wrote. The file may be anything: every field is checked.
#include "assay/machine_report.h"
#include "report/json_reader.h"

namespace assay {

namespace {

constexpr std::string_view kSchema = "assay.machine/1";
constexpr std::string_view kCommand = "assay machine --json";

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

Ceilings ceilings_of(const JsonReader& reader) {
  Ceilings ceilings;
  reader.each("peaks", [&](const JsonReader& peak) {
    ceilings.peaks.push_back({.precision = peak.text("precision"),
                              .instruction_set = peak.text("instruction_set"),
                              .threads = peak.small_count("threads"),
                              .gflops = peak.rate("gflops")});
  });
  reader.each("bandwidths", [&](const JsonReader& one) {
    ceilings.bandwidths.push_back({.level = one.text("level"),
                                   .access = one.text("access"),
                                   .threads = one.small_count("threads"),
                                   .bytes = one.count("bytes"),
                                   .gbps = one.rate("gbps")});
  });
  ceilings.seconds = reader.rate("measuring_seconds");
  return ceilings;
}

}  // namespace

Machine parse_machine_json(std::string_view text, const std::string& described_as) {
  const Json root = parsed_json(text, described_as, kCommand);
  const JsonReader reader(root, described_as);
  reader.check_schema(kSchema, "machine", kCommand);
  return {.measured_at = reader.text("measured_at"),
          .topology = topology_of(reader),
          .surroundings = surroundings_of(reader),
          .ceilings = ceilings_of(reader)};
}

}  // namespace assay
