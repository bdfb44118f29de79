// How much memory is free, checked before a large tensor is allocated: Linux overcommits memory and
// kills the process later.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

// Bytes that can be allocated without swapping; nothing if the system does not report it.
std::optional<std::int64_t> free_memory_bytes();

// Throws an Error saying how much `what` takes and how much is free, unless that is enough.
void check_memory_for(std::int64_t bytes, std::string_view what);

// The same with `describe()` as the name. Small amounts are not checked, so that the
// check costs nothing.
template <typename Describe>
void check_memory_for(std::int64_t bytes, Describe describe) {
  constexpr std::int64_t kSmallAmount = std::int64_t{64} << 20;
  if (bytes >= kSmallAmount) check_memory_for(bytes, std::string_view(describe()));
}

}  // namespace assay
