// AArch64's dot products of four pairs of signed 8-bit numbers. The build gives this file its
// instruction set.
#if defined(__aarch64__)
#include <arm_neon.h>

#include <type_traits>
#include <utility>

#include "execute/cpu/simd/tiles/tile_product.h"

namespace assay::cpu {

namespace {

struct Columns {
  int32x4_t quads[4];
};

// sums + columns · word kWord of the numbers. In any other order than the one written here, which
// the compiler is free to choose for the intrinsic, there would not be registers enough.
template <int kWord>
inline void add_dots(int32x4_t& sums, int8x16_t columns, int8x16_t numbers) {
  asm volatile("sdot %0.4s, %1.16b, %2.4b[%3]"
               : "+w"(sums)
               : "w"(columns), "w"(numbers), "i"(kWord));
}

constexpr std::size_t kLeastRows = 1;
constexpr bool kAddsSigned = true;

template <std::size_t kRows>
class RowSums {
 public:
  explicit RowSums(const Columns& start) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) sums_[r][i] = start.quads[i];
  }

  template <bool kIsSigned>
  [[gnu::always_inline]] void add(const std::byte* const (&rows)[kRows], std::size_t offset,
                                  const std::byte* weights, std::size_t bytes) {
    for (; bytes >= 16; bytes -= 16, offset += 16, weights += 4 * kTileBytes) {
      int8x16_t numbers[kRows];
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRows; ++r)
        numbers[r] = without_sign<kIsSigned>(
            vld1q_u8(reinterpret_cast<const std::uint8_t*>(rows[r]) + offset));
      add_word<0>(numbers, weights);
      add_word<1>(numbers, weights + kTileBytes);
      add_word<2>(numbers, weights + 2 * kTileBytes);
      add_word<3>(numbers, weights + 3 * kTileBytes);
    }
    for (; bytes > 0; bytes -= 4, offset += 4, weights += kTileBytes) {
      int8x16_t numbers[kRows];
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRows; ++r) {
        std::uint32_t word;
        __builtin_memcpy(&word, rows[r] + offset, sizeof(word));
        numbers[r] = without_sign<kIsSigned>(vreinterpretq_u8_u32(vdupq_n_u32(word)));
      }
      add_word<0>(numbers, weights);
    }
  }

  Columns row(std::size_t r) const {
    return {{sums_[r][0], sums_[r][1], sums_[r][2], sums_[r][3]}};
  }

 private:
  template <bool kIsSigned>
  static int8x16_t without_sign(uint8x16_t numbers) {
    return vreinterpretq_s8_u8(kIsSigned ? numbers : veorq_u8(numbers, vdupq_n_u8(0x80)));
  }

  // Four bytes of depth: number kWord of each row.
  template <int kWord>
  [[gnu::always_inline]] void add_word(const int8x16_t (&numbers)[kRows],
                                       const std::byte* weights) {
    int8x16_t columns[4];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i)
      columns[i] = vld1q_s8(reinterpret_cast<const std::int8_t*>(weights) + 16 * i);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) add_dots<kWord>(sums_[r][i], columns[i], numbers[r]);
  }

  int32x4_t sums_[kRows][4];
};

#include "execute/cpu/simd/tiles/tile_dot.inc"

}  // namespace

const TileKernels& tiles_dot() {
  static constexpr TileKernels kTable = {"neon_dot",         multiply, pack_matrix,
                                         sum_packed_columns, sum_row,  false};
  return kTable;
}

}  // namespace assay::cpu
#endif
