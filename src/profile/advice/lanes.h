// How many fp32 numbers a vector of an instruction set holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::profile {

// Nothing if the vector width of the set is unknown.
inline std::optional<std::int64_t> vector_lanes(std::string_view instruction_set) {
  if (instruction_set.starts_with("AVX-512")) return 16;
  if (instruction_set.starts_with("AVX")) return 8;
  if (instruction_set.starts_with("NEON")) return 4;
  return {};
}

}  // namespace assay::profile
