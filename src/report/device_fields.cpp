#include "report/device_fields.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "base/text.h"
#include "report/figures.h"

namespace assay::report {

namespace {

const std::array<DeviceField, 7> kFields = {{
    {"cores", "cores", FigureUnit::Count, &Device::cores},
    {"memory_bytes", "memory", FigureUnit::Bytes, &Device::memory_bytes},
    {"flash_bytes", "flash", FigureUnit::Bytes, &Device::flash_bytes},
    {"memory_bandwidth_gbps", "bandwidth", FigureUnit::Bandwidth, &Device::memory_bandwidth_gbps},
    {"power_watts", "power", FigureUnit::Watts, &Device::power_watts},
    {"idle_watts", "idle power", FigureUnit::Watts, &Device::idle_watts},
    {"step_overhead_us", "step cost", FigureUnit::Microseconds, &Device::step_overhead_us},
}};

}  // namespace

std::span<const DeviceField> device_fields() {
  return kFields;
}

// Wide enough for every present and near future device; a value outside has the wrong unit.
PlausibleRange plausible_range(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::Count:
      return {1, 1e6, true};
    case FigureUnit::Bytes:
      return {64, 1e15, true};
    case FigureUnit::Bandwidth:
      return {1e-3, 1e6};
    case FigureUnit::Rate:
      return {1e-4, 1e9};
    case FigureUnit::Watts:
      return {1e-5, 1e5};
    case FigureUnit::Microseconds:
      return {1e-4, 1e7};
  }
  return {};
}

std::string figure_text(FigureUnit unit, double value) {
  switch (unit) {
    case FigureUnit::Count:
      return with_thousands(std::llround(value));
    case FigureUnit::Bytes:
      return with_binary_unit(value);
    case FigureUnit::Bandwidth:
      return rate_text(value) + " GB/s";
    case FigureUnit::Rate:
      return with_si_unit(value * 1e9, "OP/s");
    case FigureUnit::Watts:
      return fmt::format("{:.3g} W", value);
    case FigureUnit::Microseconds:
      return duration_text(value / 1000.0);
  }
  return "";
}

std::string peak_text(std::string_view precision, double gigaoperations) {
  const bool is_integer = precision.starts_with("int");
  return with_si_unit(gigaoperations * 1e9, is_integer ? "OP/s" : "FLOP/s");
}

}  // namespace assay::report
