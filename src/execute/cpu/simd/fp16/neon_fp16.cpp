// AArch64 with arithmetic on float16 numbers: Cortex-A76 and later. The build gives this file its
// instruction set.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "execute/cpu/simd/fp16/fp16_product.h"

namespace assay::cpu {

namespace {

using Fp16 = float16x8_t;

// So many vectors of sums and as many of numbers fit the first sixteen registers, of whose elements
// alone there are products.
constexpr std::size_t kFp16Rows = 8;

inline Fp16 zero() {
  return vreinterpretq_f16_u16(vdupq_n_u16(0));
}

inline Fp16 load(const std::uint16_t* p) {
  return vreinterpretq_f16_u16(vld1q_u16(p));
}

// sum + a · number kNumber of b. GCC 12 would make a vector of that number first, and
// needs to be told the order: any other takes more registers than there are.
template <int kNumber>
inline Fp16 add_product(Fp16 sum, Fp16 a, Fp16 b) {
  asm volatile("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(a), "x"(b), "i"(kNumber));
  return sum;
}

// One row of the panel, times number kNumber of each row.
template <int kNumber, std::size_t kRows>
inline void add_products_of(const Fp16 (&numbers)[kRows], const std::uint16_t* panel,
                            Fp16 (&sums)[kRows]) {
  const Fp16 columns = load(panel + kNumber * kFp16Columns);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRows; ++r)
    sums[r] = add_product<kNumber>(sums[r], columns, numbers[r]);
}

template <std::size_t kRows>
inline void add_products(const std::uint16_t* rows, std::size_t stride, const std::uint16_t* panel,
                         std::size_t depth, Fp16 (&sums)[kRows]) {
  for (; depth >= kFp16Columns; depth -= kFp16Columns, rows += kFp16Columns) {
    Fp16 numbers[kRows];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) numbers[r] = load(rows + r * stride);
    add_products_of<0>(numbers, panel, sums);
    add_products_of<1>(numbers, panel, sums);
    add_products_of<2>(numbers, panel, sums);
    add_products_of<3>(numbers, panel, sums);
    add_products_of<4>(numbers, panel, sums);
    add_products_of<5>(numbers, panel, sums);
    add_products_of<6>(numbers, panel, sums);
    add_products_of<7>(numbers, panel, sums);
    panel += kFp16Columns * kFp16Columns;
  }
  for (; depth > 0; --depth, ++rows, panel += kFp16Columns) {
    const Fp16 columns = load(panel);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r)
      sums[r] =
          vfmaq_f16(sums[r], columns, vreinterpretq_f16_u16(vld1q_dup_u16(rows + r * stride)));
  }
}

inline void add_scaled(float* sums, float32x4_t numbers, float scale, bool continues) {
  const float32x4_t before = continues ? vld1q_f32(sums) : vdupq_n_f32(0);
  vst1q_f32(sums, vfmaq_n_f32(before, numbers, scale));
}

inline void add_scaled(float* sums, Fp16 v, float scale, bool continues) {
  add_scaled(sums, vcvt_f32_f16(vget_low_f16(v)), scale, continues);
  add_scaled(sums + 4, vcvt_high_f32_f16(v), scale, continues);
}

// Magnitudes are in the order of their bits.
inline std::uint16_t largest_magnitude(const std::uint16_t* in, std::size_t n) {
  const uint16x8_t magnitude = vdupq_n_u16(0x7fff);
  uint16x8_t largest = vdupq_n_u16(0);
  std::size_t i = 0;
  for (; i + kFp16Columns <= n; i += kFp16Columns)
    largest = vmaxq_u16(largest, vandq_u16(vld1q_u16(in + i), magnitude));
  std::uint16_t found = vmaxvq_u16(largest);
  for (; i < n; ++i) {
    const auto number = static_cast<std::uint16_t>(in[i] & 0x7fff);
    if (number > found) found = number;
  }
  return found;
}

inline void multiply_row(const std::uint16_t* in, std::uint16_t factor, std::uint16_t* out,
                         std::size_t n) {
  const float16x8_t factors = vreinterpretq_f16_u16(vdupq_n_u16(factor));
  std::size_t i = 0;
  for (; i + kFp16Columns <= n; i += kFp16Columns)
    vst1q_u16(out + i, vreinterpretq_u16_f16(vmulq_f16(load(in + i), factors)));
  if (i == n) return;
  std::uint16_t rest[kFp16Columns] = {};
  __builtin_memcpy(rest, in + i, (n - i) * sizeof(*in));
  vst1q_u16(rest, vreinterpretq_u16_f16(vmulq_f16(load(rest), factors)));
  __builtin_memcpy(out + i, rest, (n - i) * sizeof(*out));
}

#include "execute/cpu/simd/fp16/fp16_product.inc"

}  // namespace

const Fp16Kernels* compiled_neon_fp16() {
  static constexpr Fp16Kernels kKernels = {"neon_fp16", scale_row, fp16_product};
  return &kKernels;
}

}  // namespace assay::cpu
#endif
