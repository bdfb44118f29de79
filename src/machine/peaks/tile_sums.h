// The loop of the peak kernels of tile instructions (AMX): six tiles of sums, each added to once a
// round, from one tile of A and one of B.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::machine {

constexpr std::size_t kTileSums = 6;
constexpr std::size_t kSumsOfTile = 16 * 16;

// Sizes of all eight tiles: 16 rows of 64 bytes.
struct alignas(64) FullTiles {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(FullTiles) == 64);

// `add` is an instruction that takes B, A and the sums. `a` and `b` are tiles of 1024 bytes. Gives
// the total of all sums, which are of type `Sum`.
// NOLINTBEGIN(bugprone-macro-parentheses): `add` is part of a string, `Sum` a type
#define ASSAY_TILE_SUMS(add, Sum, a, b, rounds)                                                  \
  [&] {                                                                                          \
    static constexpr FullTiles kSizes;                                                           \
    const std::size_t stride = 64;                                                               \
    asm volatile("ldtilecfg (%0)" ::"r"(&kSizes) : "memory");                                    \
    asm volatile("tileloadd (%0,%2,1), %%tmm6\n\ttileloadd (%1,%2,1), %%tmm7" ::"r"(a), "r"(b),  \
                 "r"(stride)                                                                     \
                 : "memory");                                                                    \
    asm volatile(                                                                                \
        "tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\t"                                 \
        "tilezero %tmm3\n\ttilezero %tmm4\n\ttilezero %tmm5");                                   \
    for (std::int64_t round = 0; round < rounds; ++round) {                                      \
      asm volatile(add " %tmm7, %tmm6, %tmm0\n\t" add " %tmm7, %tmm6, %tmm1\n\t" add             \
                       " %tmm7, %tmm6, %tmm2\n\t" add " %tmm7, %tmm6, %tmm3\n\t" add             \
                       " %tmm7, %tmm6, %tmm4\n\t" add " %tmm7, %tmm6, %tmm5");                   \
    }                                                                                            \
    Sum sums[kTileSums][kSumsOfTile];                                                            \
    asm volatile(                                                                                \
        "tilestored %%tmm0, (%0,%1,1)\n\ttilestored %%tmm1, 1024(%0,%1,1)\n\t"                   \
        "tilestored %%tmm2, 2048(%0,%1,1)\n\ttilestored %%tmm3, 3072(%0,%1,1)\n\t"               \
        "tilestored %%tmm4, 4096(%0,%1,1)\n\ttilestored %%tmm5, 5120(%0,%1,1)\n\ttilerelease" :: \
            "r"(sums),                                                                           \
        "r"(stride)                                                                              \
        : "memory");                                                                             \
    double total = 0;                                                                            \
    for (const auto& tile : sums) {                                                              \
      for (const Sum sum : tile) total += static_cast<double>(sum);                              \
    }                                                                                            \
    return total;                                                                                \
  }()
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace assay::machine
