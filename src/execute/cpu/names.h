// What this engine and its device are called.
#pragma once

namespace assay::cpu {

inline constexpr const char* kEngine = "cpu";
inline constexpr const char* kDevice = "cpu";

}  // namespace assay::cpu
