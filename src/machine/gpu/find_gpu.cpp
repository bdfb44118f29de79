#include <fmt/core.h>

#include "assay/error.h"
#include "assay/machine.h"
#include "gpu/device.h"

namespace assay {

namespace {

// Increased when kernels change that ceilings are measured with.
constexpr int kKernels = 1;

std::string why_device_does_not_start() {
  const gpu::Libraries& libraries = gpu::libraries();
  if (!libraries.why_not.empty()) return libraries.why_not;
  try {
    gpu::device().use();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

std::string why_no_gpu() {
  static const std::string why_not = why_device_does_not_start();
  return why_not;
}

std::optional<Gpu> find_gpu() {
  if (!why_no_gpu().empty()) return {};
  const gpu::Device& device = gpu::device();
  const gpu::DeviceFacts& facts = device.facts();
  constexpr int kKilohertz = 1000;
  return Gpu{.name = facts.name,
             .libraries = device.libraries().versions(),
             .compute_capability = facts.compute_capability,
             .multiprocessors = facts.multiprocessors,
             .clock_mhz = facts.clock_khz / kKilohertz,
             .cache_bytes = facts.cache_bytes,
             .memory_bytes = facts.memory_bytes};
}

std::string fingerprint(const Gpu& gpu) {
  return fmt::format("{}; {}; {} x {} MHz; L2 {}; {} bytes; {}; kernels {}", gpu.name,
                     gpu.compute_capability, gpu.multiprocessors, gpu.clock_mhz, gpu.cache_bytes,
                     gpu.memory_bytes, gpu.libraries, kKernels);
}

}  // namespace assay
