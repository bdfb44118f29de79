#include "assay/machine_report.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json topology_json(const Topology& topology) {
  Json caches = Json::array();
  for (const CacheLevel& cache : topology.caches) {
    caches.push_back(
        {{"level", cache.level}, {"bytes", cache.bytes}, {"processors", cache.processors}});
  }
  return {{"processor", topology.processor},
          {"packages", topology.packages},
          {"cores", topology.cores},
          {"processors", topology.processors},
          {"usable", topology.usable},
          {"numa_nodes", topology.numa_nodes},
          {"memory_bytes", topology.memory_bytes},
          {"caches", std::move(caches)}};
}

Json surroundings_json(const Surroundings& around) {
  return {{"governor", optional_json(around.governor)},
          {"hypervisor", optional_json(around.hypervisor)},
          {"container", around.is_container},
          {"load", optional_json(around.load)}};
}

Json channels_json(const MeterInfo& meter) {
  Json channels = Json::array();
  for (const MeterChannel& channel : meter.channels) {
    channels.push_back({{"name", channel.name}, {"counted", channel.is_counted}});
  }
  return channels;
}

Json meters_json(const Instruments& instruments) {
  Json meters = Json::array();
  for (const MeterInfo& meter : instruments.meters) {
    meters.push_back({{"source", meter.source},
                      {"covers", covers(meter)},
                      {"kind", name(meter.kind)},
                      {"scope", name(meter.scope)},
                      {"update_ms", meter.update_ms},
                      {"channels", channels_json(meter)}});
  }
  return meters;
}

Json counters_json(const Instruments& instruments) {
  return {{"available", instruments.has_hardware_counters},
          {"events", instruments.counters},
          {"why_not", optional_json(instruments.why_not_counters)}};
}

Json peaks_json(const Ceilings& ceilings) {
  Json peaks = Json::array();
  for (const Peak& peak : ceilings.peaks) {
    peaks.push_back({{"precision", peak.precision},
                     {"instruction_set", peak.instruction_set},
                     {"threads", peak.threads},
                     {"gflops", peak.gflops},
                     {"spread", peak.spread}});
  }
  return peaks;
}

Json bandwidths_json(const Ceilings& ceilings) {
  Json bandwidths = Json::array();
  for (const Bandwidth& one : ceilings.bandwidths) {
    bandwidths.push_back({{"level", one.level},
                          {"access", one.access},
                          {"threads", one.threads},
                          {"bytes", one.bytes},
                          {"gbps", one.gbps},
                          {"spread", one.spread}});
  }
  return bandwidths;
}

Json process_spread_json(const std::optional<ProcessSpread>& spread) {
  if (!spread) return nullptr;
  return {{"deviation", spread->deviation}, {"processes", spread->processes}};
}

Json gpu_json(const std::optional<Gpu>& gpu) {
  if (!gpu) return nullptr;
  return {{"measured_at", gpu->measured_at},
          {"fingerprint", fingerprint(*gpu)},
          {"name", gpu->name},
          {"libraries", gpu->libraries},
          {"compute_capability", gpu->compute_capability},
          {"multiprocessors", gpu->multiprocessors},
          {"clock_mhz", gpu->clock_mhz},
          {"cache_bytes", gpu->cache_bytes},
          {"memory_bytes", gpu->memory_bytes},
          {"peaks", peaks_json(gpu->ceilings)},
          {"bandwidths", bandwidths_json(gpu->ceilings)},
          {"measuring_seconds", gpu->ceilings.seconds},
          {"doubts", gpu->ceilings.warnings}};
}

}  // namespace

std::string machine_json(const Machine& machine) {
  const Json document = {{"schema", "assay.machine/1"},
                         {"provenance", "measured"},
                         {"measured_at", machine.measured_at},
                         {"fingerprint", fingerprint(machine.topology)},
                         {"topology", topology_json(machine.topology)},
                         {"surroundings", surroundings_json(machine.surroundings)},
                         {"meters", meters_json(machine.instruments)},
                         {"meter_notes", machine.instruments.meter_notes},
                         {"counters", counters_json(machine.instruments)},
                         {"peaks", peaks_json(machine.ceilings)},
                         {"bandwidths", bandwidths_json(machine.ceilings)},
                         {"measuring_seconds", machine.ceilings.seconds},
                         {"process_spread", process_spread_json(machine.process_spread)},
                         {"gpu", gpu_json(machine.gpu)},
                         {"doubts", machine.ceilings.warnings},
                         {"warnings", machine.surroundings.notes}};
  return text_of(document) + "\n";
}

}  // namespace assay
