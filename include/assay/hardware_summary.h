// A model's layers compared with one latency and one memory bandwidth: how many bytes and MACs a
// second that is, how much of the bandwidth it uses, and, with a peak, on which side of the
// roofline's knee the model lies. A first look, not the verdict: `hardware_summary_limits` says
// what it leaves out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/layer_estimate.h"

namespace assay {

struct HardwareSummary {
  std::int64_t estimated_total_bytes = 0;  // Σ parameter + activation bytes
  std::int64_t estimated_total_macs = 0;
  double achieved_bandwidth_gbps = 0;           // bytes / s / 1e9
  double configured_memory_bandwidth_gbps = 0;  // as given
  double bandwidth_utilization = 0;             // achieved / assumed, may pass 1
  double achieved_gmacs = 0;                    // MACs / s / 1e9
  std::optional<double> arithmetic_intensity_macs_per_byte =
      std::nullopt;  // absent if no byte moves
  // These three only with a peak.
  std::optional<double> configured_peak_compute_gmacs = std::nullopt;
  std::optional<double> roofline_knee_macs_per_byte = std::nullopt;  // peak / assumed bandwidth
  std::optional<std::string> bound_regime =
      std::nullopt;  // "memory-bound" below the knee, or "compute-bound"

  // What the rates, the utilisation and the knee are computed with: as given, or the least allowed.
  double latency_ms = 0;
  double assumed_memory_bandwidth_gbps = 0;
  bool is_latency_clamped = false;
  bool is_bandwidth_clamped = false;
};

// Latency in seconds and bandwidth are raised to 1e-9 where they are not above it, and the summary
// says so. A figure that is not a finite number, a peak that is not above 0 and an empty list are
// Errors.
HardwareSummary summarize_hardware(const std::vector<LayerEstimate>& layers, double latency_ms,
                                   double memory_bandwidth_gbps,
                                   std::optional<double> peak_compute_gmacs = std::nullopt);

// What was clamped, separated by a space: "", "latency", "bandwidth" or "latency bandwidth".
std::string clamped_figures(const HardwareSummary& summary);

// Sentences to print wherever a summary is printed.
const std::vector<std::string>& hardware_summary_limits();

// The utilisation as a reading aid.
enum class UtilizationClass {
  MemoryBound,   // above 0.8
  Balanced,      // 0.2 to 0.8, both included
  ComputeBound,  // below 0.2: compute-bound, or memory is used inefficiently
};
UtilizationClass utilization_class(double bandwidth_utilization);
std::string_view name(UtilizationClass utilization);

struct UtilizationReading {
  UtilizationClass utilization = UtilizationClass::Balanced;
  std::string sentence;             // the class, and the figures that lead to it
  std::vector<std::string> advice;  // names layers of this model, with their figures
};

// `layers` are those that were summarised.
UtilizationReading interpret_utilization(const HardwareSummary& summary,
                                         const std::vector<LayerEstimate>& layers);

}  // namespace assay
