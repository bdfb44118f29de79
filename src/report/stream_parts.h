// The totals of a stream under the keys that JSON and CSV share, and its operators' names.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "assay/stream.h"
#include "report/display_names.h"

namespace assay::report {

inline std::array<std::pair<const char*, double>, 6> total_figures(const StreamTotals& totals) {
  return {{{"latency_ms", totals.latency_ms},
           {"memory_kb", totals.memory_kb},
           {"estimated_bandwidth_mb_s", totals.estimated_bandwidth_mb_s},
           {"stream_utilization", totals.stream_utilization},
           {"stream_utilization_uncapped", totals.stream_utilization_uncapped},
           {"overhead_ms", totals.overhead_ms}}};
}

inline DisplayNames operator_names(const HardwareProfile& profile) {
  std::vector<std::string> names;
  for (const OperatorProfile& row : profile.operator_profile) names.push_back(row.operator_name);
  return DisplayNames(names);
}

}  // namespace assay::report
