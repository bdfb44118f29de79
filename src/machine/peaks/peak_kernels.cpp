#include "machine/peaks/peak_kernel.h"

namespace assay::machine {

std::vector<const PeakKernel*> supported_peak_kernels() {
  const PeakKernel* all[] = {
    &peak_fp32_baseline(),
#if defined(__x86_64__)
    &peak_fp32_avx2(),
    &peak_fp32_avx512(),
    &peak_fp16_avx512(),
    &peak_bf16_avx512(),
    &peak_int8_avx2(),
    &peak_int8_avx_vnni(),
    &peak_int8_avx512(),
    &peak_int8_avx512_vnni(),
    &peak_int16_avx512_vnni(),
    &peak_int8_amx(),
    &peak_bf16_amx(),
#elif defined(__aarch64__)
    &peak_fp16_neon(),
    &peak_bf16_neon(),
    &peak_int8_neon(),
    &peak_int8_neon_dot(),
    &peak_int8_neon_i8mm(),
#endif
  };
  std::vector<const PeakKernel*> supported;
  for (const PeakKernel* kernel : all) {
    if (kernel->is_supported()) supported.push_back(kernel);
  }
  return supported;
}

}  // namespace assay::machine
