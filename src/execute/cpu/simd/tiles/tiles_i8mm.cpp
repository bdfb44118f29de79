// AArch64's products of two rows and two columns of eight 8-bit numbers. The build gives this file
// its instruction set.
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

constexpr std::size_t kLeastRows = 2;
constexpr bool kAddsSigned = false;

inline uint8x16_t low_halves(uint8x16_t a, uint8x16_t b) {
  return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}

inline uint8x16_t high_halves(uint8x16_t a, uint8x16_t b) {
  return vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}

// Two rows by two columns: the sums of the first row, then those of the second.
template <bool kIsSigned>
inline int32x4_t add_products(int32x4_t sums, uint8x16_t rows, int8x16_t columns) {
  if constexpr (kIsSigned)
    return vmmlaq_s32(sums, vreinterpretq_s8_u8(rows), columns);
  else
    return vusmmlaq_s32(sums, rows, columns);
}

template <std::size_t kRows>
class RowSums {
 public:
  explicit RowSums(const Columns& start) {
#pragma GCC unroll 2
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        const int32x4_t four = start.quads[i];
        sums_[pair][2 * i] = vcombine_s32(vget_low_s32(four), vget_low_s32(four));
        sums_[pair][2 * i + 1] = vcombine_s32(vget_high_s32(four), vget_high_s32(four));
      }
    }
  }

  template <bool kIsSigned>
  [[gnu::always_inline]] void add(const std::byte* const (&rows)[kRows], std::size_t offset,
                                  const std::byte* weights, std::size_t bytes) {
    for (; bytes >= 16; bytes -= 16, offset += 16, weights += 4 * kTileBytes) {
      uint8x16_t first[kPairs], second[kPairs];
#pragma GCC unroll 2
      for (std::size_t pair = 0; pair < kPairs; ++pair) {
        const uint8x16_t upper = bytes_at(rows[2 * pair] + offset);
        const uint8x16_t lower = bytes_at(rows[2 * pair + 1] + offset);
        first[pair] = low_halves(upper, lower);
        second[pair] = high_halves(upper, lower);
      }
      add_words<kIsSigned>(first, weights, weights + kTileBytes);
      add_words<kIsSigned>(second, weights + 2 * kTileBytes, weights + 3 * kTileBytes);
    }
    const std::byte zeros[kTileBytes] = {};
    for (; bytes > 0; bytes -= 4, offset += 4, weights += kTileBytes) {
      uint8x16_t words[kPairs];
#pragma GCC unroll 2
      for (std::size_t pair = 0; pair < kPairs; ++pair)
        words[pair] =
            low_halves(word_at(rows[2 * pair] + offset), word_at(rows[2 * pair + 1] + offset));
      add_words<kIsSigned>(words, weights, zeros);
    }
  }

  Columns row(std::size_t r) const {
    Columns columns;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const int64x2_t left = vreinterpretq_s64_s32(sums_[r / 2][2 * i]);
      const int64x2_t right = vreinterpretq_s64_s32(sums_[r / 2][2 * i + 1]);
      columns.quads[i] =
          vreinterpretq_s32_s64(r % 2 == 0 ? vzip1q_s64(left, right) : vzip2q_s64(left, right));
    }
    return columns;
  }

 private:
  static constexpr std::size_t kPairs = kRows / 2;

  static uint8x16_t bytes_at(const std::byte* p) {
    return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p));
  }

  static uint8x16_t word_at(const std::byte* p) {
    std::uint32_t word;
    __builtin_memcpy(&word, p, sizeof(word));
    return vreinterpretq_u8_u32(vsetq_lane_u32(word, vdupq_n_u32(0), 0));
  }

  // Eight bytes of depth, four of them in each row of words.
  template <bool kIsSigned>
  [[gnu::always_inline]] void add_words(const uint8x16_t (&numbers)[kPairs], const std::byte* first,
                                        const std::byte* second) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const int32x4_t upper = vreinterpretq_s32_u8(bytes_at(first + 16 * i));
      const int32x4_t lower = vreinterpretq_s32_u8(bytes_at(second + 16 * i));
      const int8x16_t left = vreinterpretq_s8_s32(vzip1q_s32(upper, lower));
      const int8x16_t right = vreinterpretq_s8_s32(vzip2q_s32(upper, lower));
#pragma GCC unroll 2
      for (std::size_t pair = 0; pair < kPairs; ++pair) {
        sums_[pair][2 * i] = add_products<kIsSigned>(sums_[pair][2 * i], numbers[pair], left);
        sums_[pair][2 * i + 1] =
            add_products<kIsSigned>(sums_[pair][2 * i + 1], numbers[pair], right);
      }
    }
  }

  int32x4_t sums_[kPairs][8];
};

#include "execute/cpu/simd/tiles/tile_dot.inc"

}  // namespace

const TileKernels& tiles_i8mm() {
  static constexpr TileKernels kTable = {"neon_i8mm",        multiply, pack_matrix,
                                         sum_packed_columns, sum_row,  false};
  return kTable;
}

}  // namespace assay::cpu
#endif
