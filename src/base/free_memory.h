// How much memory this machine can still give, asked before a tensor is made that may not fit:
// Linux promises more than it has and ends the process later.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

// Bytes that can be taken without swapping; nothing where the system does not tell.
std::optional<std::int64_t> free_memory_bytes();

// Throws an Error saying how much `what` takes and how much is free, unless that is enough.
void check_memory_for(std::int64_t bytes, std::string_view what);

// The same with `describe()` as the name. Nothing is asked about small amounts, so that the
// question costs nothing.
template <typename Describe>
void check_memory_for(std::int64_t bytes, Describe describe) {
  constexpr std::int64_t kSmallAmount = std::int64_t{64} << 20;
  if (bytes >= kSmallAmount) check_memory_for(bytes, std::string_view(describe()));
}

}  // namespace assay
