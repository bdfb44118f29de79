// AArch64's dot products of four pairs of signed 8-bit numbers: the loops of vnni.h. The build
// gives this file its instruction set.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "execute/cpu/simd/vnni.h"

namespace assay::cpu {

namespace {

constexpr std::size_t kChannels = 16;  // of a vector

inline int8x16_t without_128(uint8x16_t numbers) {
  return vreinterpretq_s8_u8(veorq_u8(numbers, vdupq_n_u8(0x80)));
}

inline int16x8_t as_pairs(int8x16_t bytes) {
  return vreinterpretq_s16_s8(bytes);
}

inline int8x16_t as_bytes(int16x8_t pairs) {
  return vreinterpretq_s8_s16(pairs);
}

// Four vectors of four channels, each channel with four numbers side by side.
struct Quads {
  int8x16_t parts[4];
};

inline Quads interleaved(int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d) {
  const int16x8_t ab_low = as_pairs(vzip1q_s8(a, b)), ab_high = as_pairs(vzip2q_s8(a, b));
  const int16x8_t cd_low = as_pairs(vzip1q_s8(c, d)), cd_high = as_pairs(vzip2q_s8(c, d));
  return {{as_bytes(vzip1q_s16(ab_low, cd_low)), as_bytes(vzip2q_s16(ab_low, cd_low)),
           as_bytes(vzip1q_s16(ab_high, cd_high)), as_bytes(vzip2q_s16(ab_high, cd_high))}};
}

// Sixteen channels of a row of results, from channel `first` on; fewer if they are not whole.
struct Stretch {
  const DepthwiseRow& row;
  std::size_t first = 0;
  std::size_t count = 0;
};

// One row's channels at source column `x`, signed: of unsigned numbers 128 is subtracted.
template <bool kSigned, bool kWhole>
inline int8x16_t pixel(const Stretch& at, std::size_t r, std::ptrdiff_t x) {
  const DepthwiseRow& row = at.row;
  const bool is_outside = x < 0 || x >= row.columns;
  const std::uint8_t* from =
      (is_outside ? row.padding : row.rows[r] + static_cast<std::size_t>(x) * row.row_steps[r]) +
      at.first;
  uint8x16_t numbers = vdupq_n_u8(0);
  if constexpr (kWhole) {
    numbers = vld1q_u8(from);
  } else {
    __builtin_memcpy(&numbers, from, at.count);
  }
  return kSigned ? vreinterpretq_s8_u8(numbers) : without_128(numbers);
}

// Rows 4g to 4g+3 of the filter at source column `x`; rows beyond the filter meet weights of 0.
template <std::size_t kFilter, bool kSigned, bool kWhole>
inline Quads column(const Stretch& at, std::size_t g, std::ptrdiff_t x) {
  int8x16_t numbers[4];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t r = 4 * g + i;
    numbers[i] = r < kFilter ? pixel<kSigned, kWhole>(at, r, x) : vdupq_n_s8(0);
  }
  return interleaved(numbers[0], numbers[1], numbers[2], numbers[3]);
}

// The lower eight bits of the result, whose type may be signed or not.
inline uint8x16_t clamped_bytes(const ChannelScales& finish, std::size_t first,
                                const int32x4_t (&sums)[4]) {
  // Numbers of channels first to first + 15 in the order of `depthwise_channel`.
  const std::int32_t* bias = finish.bias + first / 4;
  const float* scales = finish.scales + first / 4;
  int16x4_t quarters[4];
#pragma GCC unroll 4
  for (std::size_t part = 0; part < 4; ++part) {
    const int32x4_t all = vaddq_s32(sums[part], vld1q_s32(bias + 16 * part));
    const float32x4_t scaled = vmulq_f32(vcvtq_f32_s32(all), vld1q_f32(scales + 16 * part));
    const int32x4_t rounded = vqaddq_s32(vcvtnq_s32_f32(scaled), vdupq_n_s32(finish.zero_point));
    quarters[part] = vqmovn_s32(rounded);
  }
  const int16x8_t least = vdupq_n_s16(static_cast<std::int16_t>(finish.clamp.low));
  const int16x8_t most = vdupq_n_s16(static_cast<std::int16_t>(finish.clamp.high));
  const int16x8_t low = vminq_s16(vmaxq_s16(vcombine_s16(quarters[0], quarters[1]), least), most);
  const int16x8_t high = vminq_s16(vmaxq_s16(vcombine_s16(quarters[2], quarters[3]), least), most);
  return vuzp1q_u8(vreinterpretq_u8_s16(low), vreinterpretq_u8_s16(high));
}

// `kPixels` results side by side: each column of the source is loaded once for all of them.
template <std::size_t kFilter, std::size_t kStride, std::size_t kPixels, bool kSigned, bool kWhole>
inline void some_results(const Stretch& at, std::ptrdiff_t x, std::uint8_t* results) {
  constexpr std::size_t kGroups = depthwise_groups(kFilter);
  constexpr std::size_t kColumns = (kPixels - 1) * kStride + kFilter;
  const DepthwiseRow& row = at.row;
  int32x4_t sums[kPixels][4];
#pragma GCC unroll 4
  for (auto& of_pixel : sums)
#pragma GCC unroll 4
    for (int32x4_t& part : of_pixel) part = vdupq_n_s32(0);
#pragma GCC unroll 2
  for (std::size_t g = 0; g < kGroups; ++g) {
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kColumns; ++c) {
      const Quads numbers =
          column<kFilter, kSigned, kWhole>(at, g, x + static_cast<std::ptrdiff_t>(c));
#pragma GCC unroll 4
      for (std::size_t p = 0; p < kPixels; ++p) {
        if (c < p * kStride || c >= p * kStride + kFilter) continue;
        const std::int8_t* weights =
            row.weights + (g * kFilter + c - p * kStride) * 4 * kVnniChannels + at.first;
#pragma GCC unroll 4
        for (std::size_t part = 0; part < 4; ++part)
          sums[p][part] =
              vdotq_s32(sums[p][part], numbers.parts[part], vld1q_s8(weights + 64 * part));
      }
    }
  }
#pragma GCC unroll 4
  for (std::size_t p = 0; p < kPixels; ++p) {
    const uint8x16_t bytes = clamped_bytes(row.finish, at.first, sums[p]);
    std::uint8_t* to = results + p * row.result_step + at.first;
    if constexpr (kWhole) {
      vst1q_u8(to, bytes);
    } else {
      __builtin_memcpy(to, &bytes, at.count);
    }
  }
}

template <std::size_t kFilter, std::size_t kStride, bool kSigned, bool kWhole>
void stretch_of_row(const Stretch& at, std::uint8_t* results) {
  constexpr std::size_t kPixels = kFilter == 3 ? 4 : 2;
  const DepthwiseRow& row = at.row;
  std::ptrdiff_t x = row.first_column;
  std::size_t i = 0;
  for (; i + kPixels <= row.results; i += kPixels) {
    some_results<kFilter, kStride, kPixels, kSigned, kWhole>(at, x, results + i * row.result_step);
    x += kPixels * kStride;
  }
  for (; i < row.results; ++i) {
    some_results<kFilter, kStride, 1, kSigned, kWhole>(at, x, results + i * row.result_step);
    x += kStride;
  }
}

template <std::size_t kFilter, std::size_t kStride, bool kSigned>
void whole_row(const DepthwiseRow& row, std::uint8_t* results) {
  std::size_t first = 0;
  for (; first + kChannels <= row.channels; first += kChannels)
    stretch_of_row<kFilter, kStride, kSigned, true>({row, first, kChannels}, results);
  if (first < row.channels)
    stretch_of_row<kFilter, kStride, kSigned, false>({row, first, row.channels - first}, results);
}

template <std::size_t kFilter, std::size_t kStride>
void row_of(const DepthwiseRow& row, std::uint8_t* results) {
  if (row.source_is_signed) return whole_row<kFilter, kStride, true>(row, results);
  whole_row<kFilter, kStride, false>(row, results);
}

template <std::size_t kFilter>
void row_with_stride(std::size_t stride, const DepthwiseRow& row, std::uint8_t* results) {
  if (stride == 1) return row_of<kFilter, 1>(row, results);
  row_of<kFilter, 2>(row, results);
}

void depthwise_row(std::size_t filter, std::size_t stride, const DepthwiseRow& row,
                   std::uint8_t* results) {
  if (filter == 3) return row_with_stride<3>(stride, row, results);
  if (filter == 5) return row_with_stride<5>(stride, row, results);
  row_with_stride<7>(stride, row, results);
}

// Four numbers of a row, of which 128 is subtracted.
inline int8x16_t four_of_row(const std::uint8_t* numbers) {
  std::uint32_t four;
  __builtin_memcpy(&four, numbers, sizeof(four));
  return without_128(vreinterpretq_u8_u32(vdupq_n_u32(four)));
}

// Sixteen columns of a block for `kRows` rows. What was subtracted from the rows is added as the
// product with a row of 128, of which the instruction takes the negative.
template <std::size_t kRows>
inline void column_sums(const std::uint8_t* rows, std::size_t stride, const std::int8_t* columns,
                        std::size_t depth, std::int32_t* sums, std::size_t sums_stride) {
  int32x4_t totals[kRows][4];
  int32x4_t missing[4];
#pragma GCC unroll 4
  for (std::size_t part = 0; part < 4; ++part) {
    missing[part] = vdupq_n_s32(0);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) totals[r][part] = vdupq_n_s32(0);
  }
  const int8x16_t row_of_128 = vdupq_n_s8(-128);
  for (std::size_t k = 0; k < depth; k += 4, columns += 4 * kByteColumns) {
    int8x16_t numbers[4];
#pragma GCC unroll 4
    for (std::size_t part = 0; part < 4; ++part) {
      numbers[part] = vld1q_s8(columns + 16 * part);
      missing[part] = vdotq_s32(missing[part], numbers[part], row_of_128);
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      const int8x16_t four = four_of_row(rows + r * stride + k);
#pragma GCC unroll 4
      for (std::size_t part = 0; part < 4; ++part)
        totals[r][part] = vdotq_s32(totals[r][part], numbers[part], four);
    }
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (std::size_t part = 0; part < 4; ++part)
      vst1q_s32(sums + r * sums_stride + 4 * part, vsubq_s32(totals[r][part], missing[part]));
}

template <std::size_t kRows>
void column_sums_of(std::size_t count, const std::uint8_t* rows, std::size_t stride,
                    const std::int8_t* columns, std::size_t depth, std::int32_t* sums,
                    std::size_t sums_stride) {
  if (count == kRows) return column_sums<kRows>(rows, stride, columns, depth, sums, sums_stride);
  if constexpr (kRows > 1)
    column_sums_of<kRows - 1>(count, rows, stride, columns, depth, sums, sums_stride);
}

void byte_product(const ByteProduct& product, std::int32_t* sums, std::size_t sums_stride) {
  constexpr std::size_t kMostRows = 4;
  for (std::size_t column = 0; column < product.columns; column += 16) {
    const std::size_t within = column % kByteColumns;
    const std::int8_t* columns = product.blocks + (column - within) * product.depth + 4 * within;
    for (std::size_t first = 0; first < product.count; first += kMostRows) {
      const std::size_t left = product.count - first;
      column_sums_of<kMostRows>(left < kMostRows ? left : kMostRows,
                                product.rows + first * product.stride, product.stride, columns,
                                product.depth, sums + first * sums_stride + column, sums_stride);
    }
  }
}

}  // namespace

const VnniKernels* compiled_neon_dot() {
  static constexpr VnniKernels kKernels = {"neon_dot", false, depthwise_row, byte_product};
  return &kKernels;
}

}  // namespace assay::cpu
#endif
