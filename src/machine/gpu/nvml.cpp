#include "machine/gpu/nvml.h"

#include <fmt/core.h>

#include <array>

#include "gpu/shared_library.h"

namespace assay::machine {

namespace {

template <typename Function>
bool take_symbol(const FindSymbol& find, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(find(symbol));
  return function != nullptr;
}

void take_optional(const FindSymbol& find, Nvml& nvml) {
  take_symbol(find, "nvmlErrorString", nvml.words);
  take_symbol(find, "nvmlDeviceGetHandleByPciBusId_v2", nvml.device_at);
  take_symbol(find, "nvmlDeviceGetIndex", nvml.index);
  take_symbol(find, "nvmlDeviceGetClockInfo", nvml.clock);
  take_symbol(find, "nvmlDeviceGetMaxClockInfo", nvml.top_clock);
  take_symbol(find, "nvmlDeviceGetPowerUsage", nvml.power);
  take_symbol(find, "nvmlDeviceGetEnforcedPowerLimit", nvml.power_limit);
  take_symbol(find, "nvmlDeviceGetTemperature", nvml.temperature);
  take_symbol(find, "nvmlDeviceGetViolationStatus", nvml.violation);
  take_symbol(find, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes);
}

std::optional<Nvml> started_nvml() {
  const std::array<std::string, 1> names = {kNvmlLibrary};
  const auto library = gpu::SharedLibrary::open(names, gpu::library_folders());
  if (!library.is_open()) return {};
  auto nvml = bound_nvml([library](const char* symbol) { return library.find(symbol); });
  if (!nvml || nvml->init() != 0) return {};
  return nvml;
}

}  // namespace

std::string Nvml::why(Code code) const {
  return words != nullptr ? words(code) : fmt::format("error {}", code);
}

std::optional<Nvml> bound_nvml(FindSymbol find) {
  Nvml nvml;
  const bool has_all = take_symbol(find, "nvmlInit_v2", nvml.init) &&
                       take_symbol(find, "nvmlDeviceGetCount_v2", nvml.count) &&
                       take_symbol(find, "nvmlDeviceGetHandleByIndex_v2", nvml.device) &&
                       take_symbol(find, "nvmlDeviceGetTotalEnergyConsumption", nvml.energy);
  if (!has_all) return {};
  take_optional(find, nvml);
  nvml.keep = std::move(find);
  return nvml;
}

const Nvml* this_nvml() {
  static const std::optional<Nvml> nvml = started_nvml();
  return nvml ? &*nvml : nullptr;
}

}  // namespace assay::machine
