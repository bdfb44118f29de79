// x86-64-v4, Skylake-X and later. The build gives this file its instruction set.
#if defined(__AVX512F__)
#define ASSAY_SIMD_WIDTH 16
#define ASSAY_SIMD_TABLE simd_avx512
#define ASSAY_SIMD_NAME "avx512"
#include "execute/cpu/simd/kernels.inc"
#endif
