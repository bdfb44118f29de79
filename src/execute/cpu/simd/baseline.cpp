// What every processor of the architecture has: SSE2 on x86-64, NEON on arm64.
#define ASSAY_SIMD_WIDTH 4
#define ASSAY_SIMD_TABLE simd_baseline
#define ASSAY_SIMD_NAME "baseline"
#include "execute/cpu/simd/kernels.inc"
