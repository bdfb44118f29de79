#include "assay/hardware_comparison.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay {

namespace {

double roofline_latency_ms(const HardwareSummary& summary) {
  const double bytes = static_cast<double>(summary.estimated_total_bytes);
  const double macs = static_cast<double>(summary.estimated_total_macs);
  const double memory_ms = bytes / (summary.assumed_memory_bandwidth_gbps * 1e6);
  const auto& peak = summary.configured_peak_compute_gmacs;
  return peak ? std::max(memory_ms, macs / (*peak * 1e6)) : memory_ms;
}

ImpactFigure impact(const char* figure, double before, double after) {
  ImpactFigure row{figure, before, after, std::nullopt};
  if (before != 0) row.change_percent = 100.0 * (after - before) / before;
  return row;
}

}  // namespace

std::vector<ComparedDevice> reference_devices() {
  return {
      {"Raspberry Pi 4", 4.3, std::nullopt,
       "4.3 GB/s as often quoted; the catalogue's Pi 4 has 5.56, measured with STREAM; the wire "
       "rate "
       "is 12.8"},
      {"Jetson Nano", 25.6, std::nullopt, "data sheet"},
      {"desktop", 50.0, std::nullopt, "a round figure for two channels of memory"},
  };
}

std::vector<ComparedDevice> compared_devices(std::span<const Device> devices) {
  std::vector<ComparedDevice> compared;
  for (const Device& device : devices) {
    const auto bandwidth = best(device.memory_bandwidth_gbps);
    if (!bandwidth) continue;
    ComparedDevice one{
        .name = device.name,
        .memory_bandwidth_gbps = bandwidth->value,
        .note = fmt::format("{}, {}", name(bandwidth->provenance), bandwidth->source),
        .is_catalogued = true};
    if (const auto peak = peak_for(device, "fp32")) {
      one.peak_compute_gmacs = peak->figure.value / 2;
    }
    compared.push_back(std::move(one));
  }
  return compared;
}

std::vector<DeviceComparisonRow> compare_devices(const std::vector<LayerEstimate>& layers,
                                                 double latency_ms,
                                                 const std::vector<ComparedDevice>& devices) {
  std::vector<DeviceComparisonRow> rows;
  for (const ComparedDevice& device : devices) {
    const HardwareSummary summary = summarize_hardware(
        layers, latency_ms, device.memory_bandwidth_gbps, device.peak_compute_gmacs);
    rows.push_back({device, summary, roofline_latency_ms(summary)});
  }
  return rows;
}

HardwareImpact compare_summaries(const HardwareSummary& before, const HardwareSummary& after) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  return {
      impact("estimated_total_bytes", number(before.estimated_total_bytes),
             number(after.estimated_total_bytes)),
      impact("estimated_total_macs", number(before.estimated_total_macs),
             number(after.estimated_total_macs)),
      impact("latency_ms", before.latency_ms, after.latency_ms),
      impact("achieved_bandwidth_gbps", before.achieved_bandwidth_gbps,
             after.achieved_bandwidth_gbps),
  };
}

}  // namespace assay
