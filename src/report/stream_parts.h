// The totals of a stream under the keys that JSON and CSV share.
#pragma once

#include <array>
#include <utility>

#include "assay/stream.h"

namespace assay::report {

inline std::array<std::pair<const char*, double>, 6> total_figures(const StreamTotals& totals) {
  return {{{"latency_ms", totals.latency_ms},
           {"memory_kb", totals.memory_kb},
           {"estimated_bandwidth_mb_s", totals.estimated_bandwidth_mb_s},
           {"stream_utilization", totals.stream_utilization},
           {"stream_utilization_uncapped", totals.stream_utilization_uncapped},
           {"overhead_ms", totals.overhead_ms}}};
}

}  // namespace assay::report
