// NVIDIA's libraries as this machine has them. The driver and NVRTC are required, cuBLASLt and
// cuDNN are not: without them, kernels of our own do their work.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/functions.h"

namespace assay::gpu {

struct Libraries {
  Driver driver = {};
  Nvrtc nvrtc = {};
  std::optional<CublasLt> cublaslt = {};
  std::optional<Cudnn> cudnn = {};

  int driver_version = 0;  // of CUDA, that the driver supports: 13000 is 13.0
  int nvrtc_version = 0;   // likewise
  // What is missing for anything to run, empty if nothing is.
  std::string why_not = "";
  // What is missing for some algorithms, a sentence each.
  std::vector<std::string> notes = {};

  std::string versions() const;  // "CUDA 13.0, cuBLASLt 13.1.0, cuDNN 9.19.0"
};

// Opens what there is in these folders or where the system looks, and starts the driver.
Libraries open_libraries(std::span<const std::filesystem::path> folders);

// Those of this process, opened when they are first asked for.
const Libraries& libraries();

}  // namespace assay::gpu
