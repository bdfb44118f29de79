// The loops of every instruction set that this processor has.
#pragma once

#include <vector>

#include "base/instruction_set.h"
#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

inline std::vector<const SimdKernels*> all_kernels() {
  std::vector<const SimdKernels*> all = {&simd_baseline()};
#if defined(__x86_64__)
  if (may_use(InstructionSet::Avx2)) all.push_back(&simd_avx2());
  if (may_use(InstructionSet::Avx512)) all.push_back(&simd_avx512());
#endif
  return all;
}

inline std::vector<const HalfRowKernels*> all_half_rows() {
  std::vector<const HalfRowKernels*> all;
  for (const SimdKernels* kernels : all_kernels()) all.push_back(&kernels->half_rows);
#if defined(__x86_64__)
  if (may_use(InstructionSet::Avx512Bf16)) all.push_back(&half_rows_avx512_bf16());
#endif
  return all;
}

}  // namespace assay::cpu
