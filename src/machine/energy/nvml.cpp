// NVIDIA GPUs through the driver's own library, opened at run time: no header, no link. Energy is
// counted in millijoules since the driver was loaded, from Volta on.
#include <fmt/core.h>

#include "machine/energy/channel_meter.h"
#include "machine/energy/sources.h"

namespace assay::machine {

namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr double kNvmlUpdateMs = 100;
constexpr double kMaxWatts = 2000;

using Device = void*;
using Code = int;  // 0 is success

struct Nvml {
  FindSymbol keep = {};  // holds the library open
  Code (*init)() = nullptr;
  Code (*count)(unsigned*) = nullptr;
  Code (*device)(unsigned, Device*) = nullptr;
  Code (*energy)(Device, unsigned long long*) = nullptr;
  const char* (*words)(Code) = nullptr;

  std::string why(Code code) const {
    return words != nullptr ? words(code) : fmt::format("error {}", code);
  }
};

template <typename Function>
bool take_symbol(const FindSymbol& find, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(find(symbol));
  return function != nullptr;
}

std::optional<Nvml> bound(FindSymbol find) {
  Nvml nvml;
  const bool has_all = take_symbol(find, "nvmlInit_v2", nvml.init) &&
                       take_symbol(find, "nvmlDeviceGetCount_v2", nvml.count) &&
                       take_symbol(find, "nvmlDeviceGetHandleByIndex_v2", nvml.device) &&
                       take_symbol(find, "nvmlDeviceGetTotalEnergyConsumption", nvml.energy);
  take_symbol(find, "nvmlErrorString", nvml.words);
  nvml.keep = std::move(find);
  if (!has_all) return {};
  return nvml;
}

ReadChannel energy_of(const std::shared_ptr<const Nvml>& nvml, unsigned index) {
  return [nvml, index]() -> MeterValue {
    Device device = nullptr;
    unsigned long long millijoules = 0;
    Code code = nvml->device(index, &device);
    if (code == 0) code = nvml->energy(device, &millijoules);
    if (code != 0) return {.why_not = fmt::format("NVML says '{}'", nvml->why(code))};
    return {.value = static_cast<std::int64_t>(millijoules) * 1000};
  };
}

// 0, with a note, if the driver does not respond.
unsigned count_devices(const Nvml& nvml, EnergyMeters& found) {
  unsigned devices = 0;
  Code code = nvml.init();
  if (code == 0) code = nvml.count(&devices);
  if (code == 0) return devices;
  found.notes.push_back(fmt::format("NVML says '{}': nvidia-smi may tell more", nvml.why(code)));
  return 0;
}

void add_gpu(const std::shared_ptr<const Nvml>& nvml, unsigned index, EnergyMeters& found) {
  ChannelList list({.source = "NVML",
                    .scope = MeterScope::Accelerator,
                    .update_ms = kNvmlUpdateMs,
                    .max_watts = kMaxWatts},
                   found);
  list.add({.name = fmt::format("GPU {}", index)}, energy_of(nvml, index));
  list.finish();
}

}  // namespace

void find_nvml(const MeterSources& sources, EnergyMeters& found) {
  FindSymbol find = sources.load_library ? sources.load_library(kLibrary) : FindSymbol();
  if (!find) {
    found.absent.push_back(fmt::format("no {}", kLibrary));
    return;
  }
  auto nvml = bound(std::move(find));
  if (!nvml) {
    found.notes.push_back(
        fmt::format("NVML: {} counts no energy: install a newer driver", kLibrary));
    return;
  }
  const unsigned devices = count_devices(*nvml, found);
  const auto shared = std::make_shared<const Nvml>(std::move(*nvml));
  for (unsigned index = 0; index < devices; ++index) add_gpu(shared, index, found);
}

}  // namespace assay::machine
