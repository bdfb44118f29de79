// The figures of a device, listed once for reading, writing and showing them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assay/device.h"

namespace assay::report {

constexpr std::string_view kDevicesSchema = "assay.devices/1";

enum class FigureUnit { Count, Bytes, Bandwidth, Rate, Watts, Microseconds };

struct DeviceField {
  const char* key = "";  // in JSON and CSV
  const char* label = "";
  FigureUnit unit = FigureUnit::Count;
  Figures Device::*figures = nullptr;
};

// All but peaks and caches, in the order of the JSON.
std::span<const DeviceField> device_fields();

struct PlausibleRange {
  double least = 0;
  double most = 0;
  bool is_whole = false;
};
PlausibleRange plausible_range(FigureUnit unit);

std::string figure_text(FigureUnit unit, double value);                    // "4.00 GiB"
std::string peak_text(std::string_view precision, double gigaoperations);  // "48.0 GFLOP/s"

}  // namespace assay::report
