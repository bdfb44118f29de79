// The build gives this file its instruction set.
#include "execute/cpu/simd/vnni.h"

#if defined(__AVX512VNNI__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns of its own header (bug 105593)
#endif
#include <immintrin.h>
#endif

namespace assay::cpu {

#if defined(__AVX512VNNI__)

namespace {

// Four vectors of 16 channels, each channel with four numbers side by side.
struct Quads {
  __m512i parts[4];
};

// From four vectors of 64 channels. The order of channels is that of `depthwise_channel`.
inline Quads interleaved(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab_low = _mm512_unpacklo_epi8(a, b);
  const __m512i ab_high = _mm512_unpackhi_epi8(a, b);
  const __m512i cd_low = _mm512_unpacklo_epi8(c, d);
  const __m512i cd_high = _mm512_unpackhi_epi8(c, d);
  return {{_mm512_unpacklo_epi16(ab_low, cd_low), _mm512_unpackhi_epi16(ab_low, cd_low),
           _mm512_unpacklo_epi16(ab_high, cd_high), _mm512_unpackhi_epi16(ab_high, cd_high)}};
}

// One row's channels at source column `x`, unsigned: signed numbers have 128 added.
template <bool kSigned>
inline __m512i pixel(const DepthwiseRow& row, std::size_t r, std::ptrdiff_t x, __mmask64 mask) {
  const bool is_outside = x < 0 || x >= row.columns;
  const std::uint8_t* at =
      is_outside ? row.padding : row.rows[r] + static_cast<std::size_t>(x) * row.row_steps[r];
  const __m512i numbers = _mm512_maskz_loadu_epi8(mask, at);
  return kSigned ? _mm512_xor_si512(numbers, _mm512_set1_epi8(static_cast<char>(0x80))) : numbers;
}

// Rows 4g to 4g+3 of the filter at source column `x`; rows beyond the filter meet weights of 0.
template <std::size_t kFilter, bool kSigned>
inline Quads column(const DepthwiseRow& row, std::size_t g, std::ptrdiff_t x, __mmask64 mask) {
  __m512i numbers[4];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t r = 4 * g + i;
    numbers[i] = r < kFilter ? pixel<kSigned>(row, r, x, mask) : _mm512_setzero_si512();
  }
  return interleaved(numbers[0], numbers[1], numbers[2], numbers[3]);
}

inline __m512i rounded_sums(const ChannelScales& finish, std::size_t part, __m512i sums) {
  const __m512i all = _mm512_add_epi32(sums, _mm512_loadu_si512(finish.bias + 16 * part));
  const __m512 scaled =
      _mm512_mul_ps(_mm512_cvtepi32_ps(all), _mm512_loadu_ps(finish.scales + 16 * part));
  return _mm512_add_epi32(_mm512_cvtps_epi32(scaled), _mm512_set1_epi32(finish.zero_point));
}

inline __m512i clamped_bytes(const ChannelScales& finish, const __m512i (&sums)[4]) {
  const __m512i low = _mm512_packs_epi32(sums[0], sums[1]);
  const __m512i high = _mm512_packs_epi32(sums[2], sums[3]);
  const __m512i least = _mm512_set1_epi8(static_cast<char>(finish.clamp.low));
  const __m512i most = _mm512_set1_epi8(static_cast<char>(finish.clamp.high));
  if (finish.is_signed) {
    const __m512i bytes = _mm512_packs_epi16(low, high);
    return _mm512_min_epi8(_mm512_max_epi8(bytes, least), most);
  }
  const __m512i bytes = _mm512_packus_epi16(low, high);
  return _mm512_min_epu8(_mm512_max_epu8(bytes, least), most);
}

// `kPixels` results side by side: each column of the source is loaded once for all of them.
template <std::size_t kFilter, std::size_t kStride, std::size_t kPixels, bool kSigned>
inline void some_results(const DepthwiseRow& row, std::ptrdiff_t x, std::uint8_t* results,
                         __mmask64 mask) {
  constexpr std::size_t kGroups = depthwise_groups(kFilter);
  constexpr std::size_t kColumns = (kPixels - 1) * kStride + kFilter;
  __m512i sums[kPixels][4];
#pragma GCC unroll 4
  for (auto& of_pixel : sums)
#pragma GCC unroll 4
    for (__m512i& part : of_pixel) part = _mm512_setzero_si512();
  for (std::size_t g = 0; g < kGroups; ++g) {
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kColumns; ++c) {
      const Quads numbers =
          column<kFilter, kSigned>(row, g, x + static_cast<std::ptrdiff_t>(c), mask);
#pragma GCC unroll 4
      for (std::size_t p = 0; p < kPixels; ++p) {
        if (c < p * kStride || c >= p * kStride + kFilter) continue;
        const std::int8_t* weights =
            row.weights + (g * kFilter + c - p * kStride) * 4 * kVnniChannels;
#pragma GCC unroll 4
        for (std::size_t part = 0; part < 4; ++part) {
          sums[p][part] = _mm512_dpbusd_epi32(sums[p][part], numbers.parts[part],
                                              _mm512_loadu_si512(weights + 64 * part));
        }
      }
    }
  }
#pragma GCC unroll 4
  for (std::size_t p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (std::size_t part = 0; part < 4; ++part)
      sums[p][part] = rounded_sums(row.finish, part, sums[p][part]);
    _mm512_mask_storeu_epi8(results + p * row.result_step, mask,
                            clamped_bytes(row.finish, sums[p]));
  }
}

template <std::size_t kFilter, std::size_t kStride, bool kSigned>
void whole_row(const DepthwiseRow& row, std::uint8_t* results) {
  constexpr std::size_t kPixels = kFilter == 3 ? 4 : 2;
  const __mmask64 mask = row.channels >= 64 ? ~__mmask64{0} : (__mmask64{1} << row.channels) - 1;
  std::ptrdiff_t x = row.first_column;
  std::size_t i = 0;
  for (; i + kPixels <= row.results; i += kPixels) {
    some_results<kFilter, kStride, kPixels, kSigned>(row, x, results + i * row.result_step, mask);
    x += kPixels * kStride;
  }
  for (; i < row.results; ++i) {
    some_results<kFilter, kStride, 1, kSigned>(row, x, results + i * row.result_step, mask);
    x += kStride;
  }
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

inline __m512i four_of_row(const std::uint8_t* numbers) {
  std::int32_t four;
  __builtin_memcpy(&four, numbers, sizeof(four));
  return _mm512_set1_epi32(four);
}

// One block of columns for `kRows` rows.
template <std::size_t kRows>
inline void block_sums(const std::uint8_t* rows, std::size_t stride, const std::int8_t* block,
                       std::size_t depth, std::int32_t* sums, std::size_t sums_stride) {
  __m512i totals[kRows][4];
#pragma GCC unroll 6
  for (auto& of_row : totals)
#pragma GCC unroll 4
    for (__m512i& part : of_row) part = _mm512_setzero_si512();
  for (std::size_t k = 0; k < depth; k += 4, block += 4 * kByteColumns) {
    __m512i columns[4];
#pragma GCC unroll 4
    for (std::size_t part = 0; part < 4; ++part)
      columns[part] = _mm512_loadu_si512(block + 64 * part);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512i four = four_of_row(rows + r * stride + k);
#pragma GCC unroll 4
      for (std::size_t part = 0; part < 4; ++part)
        totals[r][part] = _mm512_dpbusd_epi32(totals[r][part], four, columns[part]);
    }
  }
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (std::size_t part = 0; part < 4; ++part)
      _mm512_storeu_si512(sums + r * sums_stride + 16 * part, totals[r][part]);
}

template <std::size_t kRows>
void block_sums_of(std::size_t count, const std::uint8_t* rows, std::size_t stride,
                   const std::int8_t* block, std::size_t depth, std::int32_t* sums,
                   std::size_t sums_stride) {
  if (count == kRows) return block_sums<kRows>(rows, stride, block, depth, sums, sums_stride);
  if constexpr (kRows > 1)
    block_sums_of<kRows - 1>(count, rows, stride, block, depth, sums, sums_stride);
}

// The rows in even groups of at most six, whose sums fit the registers beside a block's columns.
void byte_product(const ByteProduct& product, std::int32_t* sums, std::size_t sums_stride) {
  constexpr std::size_t kMost = 6;
  const std::size_t groups = (product.count + kMost - 1) / kMost;
  for (std::size_t column = 0; column < product.columns; column += kByteColumns) {
    const std::int8_t* block = product.blocks + column * product.depth;
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t first = product.count * group / groups;
      const std::size_t last = product.count * (group + 1) / groups;
      block_sums_of<kMost>(last - first, product.rows + first * product.stride, product.stride,
                           block, product.depth, sums + first * sums_stride + column, sums_stride);
    }
  }
}

}  // namespace

const VnniKernels* compiled_vnni() {
  static constexpr VnniKernels kKernels = {"avx512_vnni", true, depthwise_row, byte_product};
  return &kKernels;
}

#else

const VnniKernels* compiled_vnni() {
  return nullptr;
}

#endif

}  // namespace assay::cpu
