// Functions that throw assay::Error with a formatted message.
#pragma once

#include <fmt/core.h>

#include "assay/error.h"

namespace assay {

template <typename... Args>
[[noreturn]] void fail_bad_input(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::BadInput, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::Usage, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_running(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::Failed, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace assay
