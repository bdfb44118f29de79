#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

// A number of elements, which is never negative, as the standard library counts.
constexpr std::size_t as_size(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace assay
