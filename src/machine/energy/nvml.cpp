// NVIDIA GPUs through NVML: energy is counted in millijoules since the driver was loaded, from
// Volta on.
#include <fmt/core.h>

#include "machine/energy/channel_meter.h"
#include "machine/energy/sources.h"
#include "machine/gpu/nvml.h"

namespace assay::machine {

namespace {

constexpr double kNvmlUpdateMs = 100;
constexpr double kMaxWatts = 2000;

ReadChannel energy_of(const std::shared_ptr<const Nvml>& nvml, unsigned index) {
  return [nvml, index]() -> MeterValue {
    Nvml::Device device = nullptr;
    unsigned long long millijoules = 0;
    Nvml::Code code = nvml->device(index, &device);
    if (code == 0) code = nvml->energy(device, &millijoules);
    if (code != 0) return {.why_not = fmt::format("NVML says '{}'", nvml->why(code))};
    return {.value = static_cast<std::int64_t>(millijoules) * 1000};
  };
}

// 0, with a note, if the driver does not respond.
unsigned count_devices(const Nvml& nvml, EnergyMeters& found) {
  unsigned devices = 0;
  Nvml::Code code = nvml.init();
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
  list.add({.name = nvml_channel(index)}, energy_of(nvml, index));
  list.finish();
}

}  // namespace

std::string nvml_channel(unsigned index) {
  return fmt::format("GPU {}", index);
}

void find_nvml(const MeterSources& sources, EnergyMeters& found) {
  FindSymbol find = sources.load_library ? sources.load_library(kNvmlLibrary) : FindSymbol();
  if (!find) {
    found.absent.push_back(fmt::format("no {}", kNvmlLibrary));
    return;
  }
  auto nvml = bound_nvml(std::move(find));
  if (!nvml) {
    found.notes.push_back(
        fmt::format("NVML: {} counts no energy: install a newer driver", kNvmlLibrary));
    return;
  }
  const unsigned devices = count_devices(*nvml, found);
  const auto shared = std::make_shared<const Nvml>(std::move(*nvml));
  for (unsigned index = 0; index < devices; ++index) add_gpu(shared, index, found);
}

}  // namespace assay::machine
