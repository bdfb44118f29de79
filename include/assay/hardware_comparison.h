// One model on several devices, and one model before and after a change.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/device.h"
#include "assay/hardware_summary.h"

namespace assay {

struct ComparedDevice {
  std::string name;
  double memory_bandwidth_gbps = 0;
  std::optional<double> peak_compute_gmacs = std::nullopt;
  std::string note;            // where the figures come from
  bool is_catalogued = false;  // its sources are in the catalogue, which tables need not repeat
};

// Raspberry Pi 4, Jetson Nano and a desktop, with the bandwidths usually quoted for them.
std::vector<ComparedDevice> reference_devices();

// Devices as the catalogue has them: the best figure for the bandwidth and for the fp32 peak, of
// which two operations count as one MAC. Those without a bandwidth are left out.
std::vector<ComparedDevice> compared_devices(std::span<const Device> devices);

struct DeviceComparisonRow {
  ComparedDevice device;
  HardwareSummary summary;  // at the latency given, which is the same for every device
  // Every byte moved once at the device's bandwidth, every MAC done at its peak where that is
  // known, whichever takes longer. Caches can make a run faster than this, nearly everything else
  // slower.
  double roofline_latency_ms = 0;
};

std::vector<DeviceComparisonRow> compare_devices(const std::vector<LayerEstimate>& layers,
                                                 double latency_ms,
                                                 const std::vector<ComparedDevice>& devices);

struct ImpactFigure {
  std::string name;
  double before = 0;
  double after = 0;
  std::optional<double> change_percent = std::nullopt;  // absent where nothing was there before
};

// `estimated_total_bytes`, `estimated_total_macs`, `latency_ms` and `achieved_bandwidth_gbps`.
using HardwareImpact = std::array<ImpactFigure, 4>;

HardwareImpact compare_summaries(const HardwareSummary& before, const HardwareSummary& after);

}  // namespace assay
