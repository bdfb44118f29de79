#include "execute/cpu/simd/fp16/fp16_product.h"

#include <atomic>

#include "base/instruction_set.h"

namespace assay::cpu {

namespace {

std::atomic<bool> is_float16_emulated{false};

}  // namespace

void use_emulated_fp16(bool on) {
  is_float16_emulated = on;
}

const Fp16Kernels* fp16() {
  if (is_float16_emulated) return &fp16_emulated();
#if defined(__x86_64__)
  static const bool is_there = may_use_float16_arithmetic();
  return is_there ? compiled_fp16() : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace assay::cpu
