// The loops of every instruction set that this processor has.
#pragma once

#include <vector>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

inline std::vector<const SimdKernels*> all_kernels() {
  std::vector<const SimdKernels*> all = {&simd_baseline()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&simd_avx2());
  if (&simd() == &simd_avx512()) all.push_back(&simd_avx512());
#endif
  return all;
}

}  // namespace assay::cpu
