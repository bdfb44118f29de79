// Products of float16 numbers in float16 arithmetic (AVX512-FP16, AArch64 from Cortex-A76 on). A
// short stretch of products is summed in float16, the stretches in float32; rows are scaled so that
// no sum of a stretch overflows. The algorithm is in fp16_product.inc; avx512fp16.cpp and
// neon_fp16.cpp compile it for the processor's vectors, tests/execute/fp16_emulated.cpp for
// emulated ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cpu {

// Of a panel: a vector of float16 numbers.
#if defined(__aarch64__)
constexpr std::size_t kFp16Columns = 8;
#else
constexpr std::size_t kFp16Columns = 32;
#endif
// Products that are summed in float16: each adds a rounding of 2⁻¹² of the sum, on average.
constexpr std::size_t kFp16Stretch = 32;
// Weights beyond this might make the sum of a stretch overflow: 32 products of at most 4 · 256.
constexpr float kFp16LargestWeight = 256;
// Where no weight reaches this, sums of a stretch lose bits.
constexpr float kFp16LeastWeight = 1.0f / 1024;

struct Fp16Product {
  const std::uint16_t* rows = nullptr;  // scaled
  std::size_t count = 0;
  std::size_t stride = 0;
  const float* scales = nullptr;         // that rows were divided by
  const std::uint16_t* panel = nullptr;  // [depth, kFp16Columns]
  std::size_t depth = 0;
  float* sums = nullptr;
  std::size_t sums_stride = 0;
  bool continues = false;  // adds to what `sums` hold
};

struct Fp16Kernels {
  const char* isa = "";  // as StepInfo has it
  // Numbers divided by a power of two, so that the largest magnitude is between 1/2 and 1, or below
  // 4 where it is beyond 16384; tells the power.
  float (*scale_row)(const std::uint16_t* in, std::uint16_t* out, std::size_t n);
  // sums[r·sums_stride + j] = scales[r] · Σ_k rows[r·stride + k]·panel[k·kFp16Columns + j]
  void (*product)(const Fp16Product& product);
};

// Nothing where the processor has no such instructions, or may not use them.
const Fp16Kernels* fp16();
// For tests: these instead, whatever the processor has; null undoes it.
void replace_fp16(const Fp16Kernels* kernels);
const Fp16Kernels* compiled_fp16();
const Fp16Kernels* compiled_neon_fp16();  // on AArch64

}  // namespace assay::cpu
