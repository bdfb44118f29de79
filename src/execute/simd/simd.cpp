#include "execute/simd/simd.h"

namespace assay {

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

}  // namespace assay
