// The content of a sweep's files, one function each, and what several of them share.
#pragma once

#include <string>
#include <vector>

#include "assay/sweep_report.h"
#include "report/json_parts.h"

namespace assay::report {

inline bool has_failed(const SweepRow& row) {
  return !row.metrics || !row.error.empty();
}
inline bool is_accepted(const SweepRow& row) {
  return row.accepted && !has_failed(row);
}

// The rows of the latency, energy or memory frontier, as in sweep_results.csv.
std::string frontier_csv(const SweepRun& run, const std::vector<std::size_t>& frontier);
// A line for each version that failed.
std::string sweep_errors_csv(const std::vector<SweepRow>& rows);
std::string quantization_metadata_json(const QuantizationMetadata& metadata);
std::string accuracy_chart_png(const SweepRun& run, ParetoCost cost);
std::string accuracy_chart_svg(const SweepRun& run, ParetoCost cost);

// The content of summary.json.
Json sweep_summary_object(const SweepRun& run);

}  // namespace assay::report
