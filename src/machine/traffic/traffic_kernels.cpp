#include "machine/traffic/traffic_kernel.h"

namespace assay::machine {

const TrafficTable& traffic_table() {
#if defined(__x86_64__)
  if (traffic_avx512().is_supported()) return traffic_avx512();
  if (traffic_avx2().is_supported()) return traffic_avx2();
#endif
  return traffic_baseline();
}

}  // namespace assay::machine
