// The processor's tile instructions, written out: the compiler's intrinsics (GCC 12) neither take
// the number of a tile from a template nor say that they access memory.
#if defined(__x86_64__)
#include <immintrin.h>

#include <type_traits>
#include <utility>

#include "execute/cpu/simd/tiles/tile_product.h"

namespace assay::cpu {

namespace {

template <int kTile>
inline void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}

template <int kTile>
inline void tile_load(const std::byte* rows, std::size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(rows), "r"(stride), "i"(kTile) : "memory");
}

template <int kTile>
inline void tile_load_once(const std::byte* rows, std::size_t stride) {
  asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" ::"r"(rows), "r"(stride), "i"(kTile) : "memory");
}

template <int kTile>
inline void tile_store(std::int32_t* rows, std::size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(rows), "r"(stride), "i"(kTile) : "memory");
}

template <int kSum, int kA, int kB>
inline void dot_u8s8() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
}

template <int kSum, int kA, int kB>
inline void dot_s8s8() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
}

template <int kSum, int kA, int kB>
inline void dot_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
}

inline void configure(const void* sizes) {
  asm volatile("ldtilecfg (%0)" ::"r"(sizes) : "memory");
}

inline void release() {
  asm volatile("tilerelease");
}

#include "execute/cpu/simd/tiles/tile_product.inc"

}  // namespace

const TileKernels& tiles_amx() {
  static constexpr TileKernels kTable = {"amx", multiply, pack_matrix, sum_packed_columns, sum_row};
  return kTable;
}

}  // namespace assay::cpu
#endif
