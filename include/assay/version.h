// The version of assay: of these headers as macros, of the library that was linked as a function.
// The build checks that both agree with CMakeLists.txt.
#pragma once

#include <string_view>

#define ASSAY_VERSION_MAJOR 0
#define ASSAY_VERSION_MINOR 1
#define ASSAY_VERSION_PATCH 0
#define ASSAY_VERSION "0.1.0"

namespace assay {

std::string_view version();  // "0.1.0"

}  // namespace assay
