// The GPU that engines use, as NVML knows it.
#pragma once

#include <optional>

#include "assay/timing.h"
#include "machine/gpu/nvml.h"

namespace assay::machine {

// By the place of the GPU on its bus; nothing where NVML does not know it.
std::optional<Nvml::Device> engine_gpu(const Nvml& nvml);

GpuState state_of(const Nvml& nvml, Nvml::Device device);

}  // namespace assay::machine
