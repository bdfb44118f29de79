#include "execute/cpu/simd/simd.h"

#include "execute/cpu/simd/vnni.h"

namespace assay::cpu {

const SimdKernels& simd() {
#if defined(__x86_64__)
  static const SimdKernels& chosen =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
          ? simd_avx512()
      : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? simd_avx2()
                                                                        : simd_baseline();
  return chosen;
#else
  return simd_baseline();
#endif
}

const VnniKernels* vnni() {
#if defined(__x86_64__)
  static const bool is_there =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  return is_there ? compiled_vnni() : nullptr;
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
  const bool is_wide = &simd() == &simd_avx512();
  if (is_wide && floats < 16) return floats < 8 ? simd_baseline() : simd_avx2();
  if (&simd() == &simd_avx2() && floats < 8) return simd_baseline();
#else
  (void)floats;
#endif
  return simd();
}

}  // namespace assay::cpu
