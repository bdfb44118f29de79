// MB in assay's figures are 1024 × 1024 bytes.
#pragma once

#include <cstdint>

namespace assay {

constexpr double kMegabyte = 1024.0 * 1024.0;

constexpr double in_mb(std::int64_t bytes) {
  return static_cast<double>(bytes) / kMegabyte;
}

}  // namespace assay
