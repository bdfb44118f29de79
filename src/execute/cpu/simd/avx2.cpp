// x86-64-v3. The build gives this file its instruction set.
#if defined(__AVX2__)
#define ASSAY_SIMD_WIDTH 8
#define ASSAY_SIMD_TABLE simd_avx2
#define ASSAY_SIMD_NAME "avx2"
#include "execute/cpu/simd/kernels.inc"
#endif
