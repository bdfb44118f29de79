// What the engine is called, and the device that its steps run on.
#pragma once

namespace assay::cuda {

inline constexpr const char* kEngine = "cuda";
inline constexpr const char* kDevice = "cuda";

}  // namespace assay::cuda
