#include "machine/gpu/engine_gpu.h"

#include <algorithm>

#include "assay/energy_meter.h"
#include "assay/error.h"
#include "assay/machine.h"
#include "gpu/device.h"
#include "machine/energy/sources.h"

namespace assay {

using namespace assay::machine;

namespace machine {

namespace {

// Of nvmlClockType_t, nvmlPerfPolicyType_t and nvmlReturn_t.
constexpr int kMultiprocessorClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kPowerPolicy = 0;
constexpr int kThermalPolicy = 1;
constexpr int kTooSmall = 7;

template <typename... Parameters, typename... Arguments>
std::optional<unsigned> asked(Nvml::Code (*function)(Parameters...), Arguments... arguments) {
  unsigned value = 0;
  if (function == nullptr || function(arguments..., &value) != 0) return {};
  return value;
}

std::optional<int> whole(std::optional<unsigned> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<double> watts_of(std::optional<unsigned> milliwatts) {
  return milliwatts ? std::optional(*milliwatts / 1000.0) : std::nullopt;
}

std::optional<double> limited_seconds(const Nvml& nvml, Nvml::Device device, int policy) {
  Nvml::ViolationTime time;
  if (nvml.violation == nullptr || nvml.violation(device, policy, &time) != 0) return {};
  return static_cast<double>(time.nanoseconds) * 1e-9;
}

// Without room for any it tells how many there are.
std::optional<int> processes_on(const Nvml& nvml, Nvml::Device device) {
  unsigned count = 0;
  if (nvml.processes == nullptr) return {};
  const Nvml::Code code = nvml.processes(device, &count, nullptr);
  if (code != 0 && code != kTooSmall) return {};
  return static_cast<int>(count);
}

class GpuMachine final : public MachineState {
 public:
  std::optional<MachineTimes> times() override {
    auto times = this_machine().times();
    const Nvml* nvml = this_nvml();
    if (!times || nvml == nullptr) return times;
    if (const auto device = engine_gpu(*nvml)) times->gpu = state_of(*nvml, *device);
    return times;
  }
};

}  // namespace

std::optional<Nvml::Device> engine_gpu(const Nvml& nvml) {
  if (nvml.device_at == nullptr || !why_no_gpu().empty()) return {};
  Nvml::Device device = nullptr;
  if (nvml.device_at(gpu::device().facts().bus.c_str(), &device) != 0) return {};
  return device;
}

GpuState state_of(const Nvml& nvml, Nvml::Device device) {
  return {.clock_mhz = whole(asked(nvml.clock, device, kMultiprocessorClock)),
          .top_clock_mhz = whole(asked(nvml.top_clock, device, kMultiprocessorClock)),
          .memory_clock_mhz = whole(asked(nvml.clock, device, kMemoryClock)),
          .watts = watts_of(asked(nvml.power, device)),
          .most_watts = watts_of(asked(nvml.power_limit, device)),
          .celsius = whole(asked(nvml.temperature, device, 0)),
          .power_limited_seconds = limited_seconds(nvml, device, kPowerPolicy),
          .heat_limited_seconds = limited_seconds(nvml, device, kThermalPolicy),
          .processes = processes_on(nvml, device)};
}

}  // namespace machine

MachineState& machine_state_for(std::string_view device) {
  static GpuMachine with_gpu;
  return device == "cpu" ? this_machine() : with_gpu;
}

EnergyMeter* gpu_meter(const EnergyMeters& found) {
  const Nvml* nvml = this_nvml();
  const auto device = nvml != nullptr ? engine_gpu(*nvml) : std::nullopt;
  const auto index = device ? asked(nvml->index, *device) : std::nullopt;
  if (!index) return nullptr;
  const auto found_meter = std::ranges::find_if(found.meters, [&](const auto& meter) {
    const MeterInfo& info = meter->info();
    return info.source == "NVML" && covers(info) == nvml_channel(*index);
  });
  return found_meter == found.meters.end() ? nullptr : found_meter->get();
}

}  // namespace assay
