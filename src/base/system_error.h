// The message of the last error of the operating system.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace assay {

inline std::string last_system_error() {
  return std::error_code(errno, std::generic_category()).message();
}

}  // namespace assay
