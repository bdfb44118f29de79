#include "assay/hardware_summary.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/fail.h"

namespace assay {

namespace {

constexpr double kLeast = 1e-9;  // seconds, and GB/s

struct Totals {
  std::int64_t bytes = 0;
  std::int64_t macs = 0;
};

Totals totals_of(const std::vector<LayerEstimate>& layers) {
  if (layers.empty()) fail_bad_input("hardware summary: there are no layers to summarise");
  Totals totals;
  for (const LayerEstimate& layer : layers) {
    if (std::min({layer.parameter_bytes, layer.activation_bytes, layer.macs}) < 0) {
      fail_bad_input("hardware summary: layer '{}' has a negative figure", layer.layer);
    }
    totals.bytes = saturating_add(totals.bytes, layer.parameter_bytes);
    totals.bytes = saturating_add(totals.bytes, layer.activation_bytes);
    totals.macs = saturating_add(totals.macs, layer.macs);
  }
  return totals;
}

void require_finite(double number, const char* what) {
  if (std::isfinite(number)) return;
  fail_bad_input("hardware summary: {} is {}, give a finite number", what, number);
}

void add_roofline(HardwareSummary& summary, double peak_gmacs) {
  require_finite(peak_gmacs, "peak_compute_gmacs");
  if (peak_gmacs <= 0) {
    fail_bad_input("hardware summary: peak_compute_gmacs is {}, give one above 0 or none",
                   peak_gmacs);
  }
  summary.configured_peak_compute_gmacs = peak_gmacs;
  const double knee = peak_gmacs / summary.assumed_memory_bandwidth_gbps;
  summary.roofline_knee_macs_per_byte = knee;
  if (!summary.arithmetic_intensity_macs_per_byte) return;
  const bool is_below_knee = *summary.arithmetic_intensity_macs_per_byte < knee;
  summary.bound_regime = is_below_knee ? "memory-bound" : "compute-bound";
}

}  // namespace

HardwareSummary summarize_hardware(const std::vector<LayerEstimate>& layers, double latency_ms,
                                   double memory_bandwidth_gbps,
                                   std::optional<double> peak_compute_gmacs) {
  require_finite(latency_ms, "latency_ms");
  require_finite(memory_bandwidth_gbps, "memory_bandwidth_gbps");
  const Totals totals = totals_of(layers);
  const double bytes = static_cast<double>(totals.bytes);
  const double macs = static_cast<double>(totals.macs);
  const double seconds = std::max(latency_ms / 1000.0, kLeast);

  HardwareSummary summary;
  summary.estimated_total_bytes = totals.bytes;
  summary.estimated_total_macs = totals.macs;
  summary.achieved_bandwidth_gbps = bytes / seconds / 1e9;
  summary.configured_memory_bandwidth_gbps = memory_bandwidth_gbps;
  summary.assumed_memory_bandwidth_gbps = std::max(memory_bandwidth_gbps, kLeast);
  summary.bandwidth_utilization =
      summary.achieved_bandwidth_gbps / summary.assumed_memory_bandwidth_gbps;
  summary.achieved_gmacs = macs / seconds / 1e9;
  if (totals.bytes > 0) summary.arithmetic_intensity_macs_per_byte = macs / bytes;
  summary.is_latency_clamped = latency_ms / 1000.0 <= kLeast;
  summary.is_bandwidth_clamped = memory_bandwidth_gbps <= kLeast;
  summary.latency_ms = summary.is_latency_clamped ? kLeast * 1000.0 : latency_ms;
  if (peak_compute_gmacs) add_roofline(summary, *peak_compute_gmacs);
  return summary;
}

std::string clamped_figures(const HardwareSummary& summary) {
  if (!summary.is_bandwidth_clamped) return summary.is_latency_clamped ? "latency" : "";
  return summary.is_latency_clamped ? "latency bandwidth" : "bandwidth";
}

const std::vector<std::string>& hardware_summary_limits() {
  static const std::vector<std::string> limits = {
      "memory is assumed to be read and written in sequence",
      "caches are ignored: what stays in them is counted as if it came from memory",
      "the cost of starting each operation is ignored",
      "parameters are counted once, activations once where they are made",
      "one thread is assumed",
  };
  return limits;
}

}  // namespace assay
