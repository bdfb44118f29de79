// Under AddressSanitizer, a step may touch no bytes of the arena but those of its own buffers: an
// access beyond them is reported like one beyond a block of the heap. Does nothing in other builds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/cpu/step.h"

namespace assay::cpu {

// Bytes left free after every buffer, so that an overflow does not reach another buffer of the
// step.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::int64_t kArenaGap = 64;
#else
inline constexpr std::int64_t kArenaGap = 0;
#endif

// `run`, with everything in `arena` but the bytes of `own` forbidden meanwhile.
Runner guarded(Runner run, std::span<std::byte> arena, std::vector<std::span<std::byte>> own);

}  // namespace assay::cpu
