#include "execute/cpu/simd/simd.h"

#include "base/instruction_set.h"
#include "execute/cpu/simd/vnni.h"
#include "execute/cpu/simd/winograd16.h"

namespace assay::cpu {

namespace {

const SimdKernels& widest_kernels() {
#if defined(__x86_64__)
  if (may_use(InstructionSet::Avx512)) return simd_avx512();
  if (may_use(InstructionSet::Avx2)) return simd_avx2();
#endif
  return simd_baseline();
}

}  // namespace

const SimdKernels& simd() {
  static const SimdKernels& chosen = widest_kernels();
  return chosen;
}

const HalfRowKernels& half_rows() {
#if defined(__x86_64__)
  static const bool rounds_to_bf16 = may_use(InstructionSet::Avx512Bf16);
  if (rounds_to_bf16) return half_rows_avx512_bf16();
#endif
  return simd().half_rows;
}

const VnniKernels* vnni() {
#if defined(__x86_64__)
  static const bool is_there = may_use(InstructionSet::Avx512Vnni);
  return is_there ? compiled_vnni() : nullptr;
#elif defined(__aarch64__)
  static const bool is_there = may_use_dot_products();
  return is_there ? compiled_neon_dot() : nullptr;
#else
  return nullptr;
#endif
}

const Winograd16Kernels* winograd16() {
#if defined(__x86_64__)
  static const bool is_there = may_use(InstructionSet::Avx512Vnni);
  return is_there ? compiled_winograd16() : nullptr;
#else
  return nullptr;
#endif
}

ByteProductFunction fastest_byte_product() {
  return vnni() != nullptr ? vnni()->byte_product : simd().byte_product;
}

// Four, eight or sixteen floats are a vector of the baseline, of AVX2 or of AVX-512.
const SimdKernels& simd_for(std::size_t floats) {
#if defined(__x86_64__)
  if (floats < 8) return simd_baseline();
  if (floats < 16 && may_use(InstructionSet::Avx2)) return simd_avx2();
#else
  (void)floats;
#endif
  return simd();
}

}  // namespace assay::cpu
