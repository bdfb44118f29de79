// The compiler that built this, for the record of a result.
#pragma once

namespace assay {

#if defined(__clang__)
inline constexpr const char* kCompiler = __VERSION__;
#else
inline constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

}  // namespace assay
