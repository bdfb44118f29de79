#include "execute/cpu/simd/simd.h"

#include "base/instruction_set.h"

namespace assay::cpu {

namespace {

const SimdKernels& widest_kernels() {
#if defined(__x86_64__)
  if (may_use_byte_permutations()) return simd_avx512_vnni();
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
