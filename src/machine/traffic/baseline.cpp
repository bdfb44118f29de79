#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "machine/traffic/traffic_kernel.h"

namespace assay::machine {

namespace {

using Vector = double __attribute__((vector_size(16)));
#if defined(__x86_64__)
#define ASSAY_TRAFFIC_NON_TEMPORAL
constexpr auto kNonTemporalStore = [](double* to, Vector value) { _mm_stream_pd(to, value); };
#endif
bool is_supported() {
  return true;
}

}  // namespace

}  // namespace assay::machine

#define ASSAY_TRAFFIC_TABLE traffic_baseline
#define ASSAY_TRAFFIC_NAME "baseline"
#include "machine/traffic/table.inc"
