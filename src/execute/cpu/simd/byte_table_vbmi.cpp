// The build gives this file its instruction set.
#include "execute/cpu/simd/byte_table.h"

#if defined(__AVX512VBMI__)
#include <immintrin.h>
#endif

namespace assay::cpu {

std::size_t look_up_by_permutation([[maybe_unused]] const std::uint8_t* table,
                                   [[maybe_unused]] const std::uint8_t* in,
                                   [[maybe_unused]] std::uint8_t* out,
                                   [[maybe_unused]] std::size_t n) {
  std::size_t i = 0;
#if defined(__AVX512VBMI__)
  const __m512i quarters[4] = {_mm512_loadu_si512(table), _mm512_loadu_si512(table + 64),
                               _mm512_loadu_si512(table + 128), _mm512_loadu_si512(table + 192)};
  for (; i + 64 <= n; i += 64) {
    const __m512i at = _mm512_loadu_si512(in + i);
    const __m512i low = _mm512_permutex2var_epi8(quarters[0], at, quarters[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarters[2], at, quarters[3]);
    _mm512_storeu_si512(out + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
  }
#endif
  return i;
}

}  // namespace assay::cpu
