// Sapphire Rapids and later. The build gives this file its instruction set.
#include "execute/cpu/simd/fp16/fp16_product.h"

#if defined(__AVX512FP16__)
#include <immintrin.h>

namespace assay::cpu {

namespace {

using Fp16 = __m512h;

constexpr std::size_t kFp16Rows = 24;

inline Fp16 zero() {
  return _mm512_setzero_ph();
}

inline Fp16 load(const std::uint16_t* p) {
  return _mm512_loadu_ph(p);
}

inline Fp16 add_product(Fp16 sum, const std::uint16_t* factor, Fp16 v) {
  _Float16 one;
  __builtin_memcpy(&one, factor, sizeof(one));
  return _mm512_fmadd_ph(_mm512_set1_ph(one), v, sum);
}

inline void add_scaled(float* sums, Fp16 v, float scale, bool continues) {
  const __m512 factor = _mm512_set1_ps(scale);
  const __m512d both = _mm512_castph_pd(v);
  const __m256h low = _mm256_castpd_ph(_mm512_castpd512_pd256(both));
  const __m256h high = _mm256_castpd_ph(_mm512_extractf64x4_pd(both, 1));
  const __m512 first = continues ? _mm512_loadu_ps(sums) : _mm512_setzero_ps();
  const __m512 second = continues ? _mm512_loadu_ps(sums + 16) : _mm512_setzero_ps();
  _mm512_storeu_ps(sums, _mm512_fmadd_ps(_mm512_cvtxph_ps(low), factor, first));
  _mm512_storeu_ps(sums + 16, _mm512_fmadd_ps(_mm512_cvtxph_ps(high), factor, second));
}

// Magnitudes are in the order of their bits.
inline std::uint16_t largest_magnitude(const std::uint16_t* in, std::size_t n) {
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  __m512i largest = _mm512_setzero_si512();
  for (std::size_t i = 0; i < n; i += kFp16Columns) {
    const __mmask32 some = n - i >= kFp16Columns ? ~__mmask32{0} : (__mmask32{1} << (n - i)) - 1;
    const __m512i numbers = _mm512_maskz_loadu_epi16(some, in + i);
    largest = _mm512_max_epu16(largest, _mm512_and_si512(numbers, magnitude));
  }
  const __m256i half =
      _mm256_max_epu16(_mm512_castsi512_si256(largest), _mm512_extracti64x4_epi64(largest, 1));
  const __m128i quarter =
      _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  // The processor finds the least of eight numbers.
  const __m128i inverted = _mm_xor_si128(quarter, _mm_set1_epi16(-1));
  return static_cast<std::uint16_t>(~_mm_cvtsi128_si32(_mm_minpos_epu16(inverted)));
}

inline void multiply_row(const std::uint16_t* in, std::uint16_t factor, std::uint16_t* out,
                         std::size_t n) {
  _Float16 number;
  __builtin_memcpy(&number, &factor, sizeof(number));
  const __m512h factors = _mm512_set1_ph(number);
  for (std::size_t i = 0; i < n; i += kFp16Columns) {
    const __mmask32 some = n - i >= kFp16Columns ? ~__mmask32{0} : (__mmask32{1} << (n - i)) - 1;
    const __m512h numbers = _mm512_castsi512_ph(_mm512_maskz_loadu_epi16(some, in + i));
    _mm512_mask_storeu_epi16(out + i, some, _mm512_castph_si512(_mm512_mul_ph(numbers, factors)));
  }
}

#include "execute/cpu/simd/fp16/fp16_by_number.inc"
#include "execute/cpu/simd/fp16/fp16_product.inc"

}  // namespace

const Fp16Kernels* compiled_fp16() {
  static constexpr Fp16Kernels kKernels = {"avx512_fp16", scale_row, fp16_product};
  return &kKernels;
}

}  // namespace assay::cpu

#else

namespace assay::cpu {

const Fp16Kernels* compiled_fp16() {
  return nullptr;
}

}  // namespace assay::cpu

#endif
