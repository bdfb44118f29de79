// Rows of 16-bit numbers on processors that round to bf16 (AVX512-BF16: Cooper Lake, Zen 4). The
// build gives this file its instruction set.
#if defined(__AVX512BF16__)
#define ASSAY_SIMD_WIDTH 16
#include <immintrin.h>

#include <cstring>
#include <utility>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

namespace {

constexpr std::size_t kWidth = ASSAY_SIMD_WIDTH;
// NOLINTBEGIN(modernize-use-using): the attribute of vectors belongs to a typedef
typedef float V __attribute__((vector_size(4 * ASSAY_SIMD_WIDTH)));
typedef std::int32_t I __attribute__((vector_size(4 * ASSAY_SIMD_WIDTH)));
// NOLINTEND(modernize-use-using)

// In this order.
#include "execute/cpu/simd/vector_math.inc"

#include "execute/cpu/simd/folding.inc"
#include "execute/cpu/simd/half.inc"

#include "execute/cpu/simd/half_rows.inc"

}  // namespace

const HalfRowKernels& half_rows_avx512_bf16() {
  return kHalfRows;
}

}  // namespace assay::cpu
#endif
