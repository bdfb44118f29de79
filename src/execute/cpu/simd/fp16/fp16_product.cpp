#include "execute/cpu/simd/fp16/fp16_product.h"

#include <atomic>

#include "base/instruction_set.h"

namespace assay::cpu {

namespace {

std::atomic<const Fp16Kernels*> fp16_replacement{nullptr};

}  // namespace

void replace_fp16(const Fp16Kernels* kernels) {
  fp16_replacement = kernels;
}

const Fp16Kernels* fp16() {
  if (const Fp16Kernels* given = fp16_replacement) return given;
  static const bool is_there = may_use_float16_arithmetic();
  if (!is_there) return nullptr;
#if defined(__aarch64__)
  return compiled_neon_fp16();
#else
  return compiled_fp16();
#endif
}

}  // namespace assay::cpu
