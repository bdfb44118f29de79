#if defined(__x86_64__)
#include <immintrin.h>

#include "machine/traffic/traffic_kernel.h"

namespace assay::machine {

namespace {

using Vector = double __attribute__((vector_size(64)));
constexpr auto kNonTemporalStore = [](double* to, Vector value) { _mm512_stream_pd(to, value); };
bool is_supported() {
  return __builtin_cpu_supports("avx512f") != 0;
}

}  // namespace

}  // namespace assay::machine

#define ASSAY_TRAFFIC_NON_TEMPORAL
#define ASSAY_TRAFFIC_TABLE traffic_avx512
#define ASSAY_TRAFFIC_NAME "AVX-512"
#include "machine/traffic/table.inc"
#endif
