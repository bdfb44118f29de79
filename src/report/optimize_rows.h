// The versions that were tried, in the form that tables, CSV and JSON share.
#pragma once

#include <string>
#include <vector>

#include "assay/optimize_report.h"
#include "report/hardware_columns.h"

namespace assay::report {

// The original first, then the trail.
std::vector<OptimizeTrial> all_versions(const OptimizeReport& report);

NamedFigures trial_figures(const OptimizeTrial& trial);

// "met", "unconfirmed", "too slow", "too lossy", …: what the search made of it.
std::string trial_outcome(const OptimizeReport& report, const OptimizeTrial& trial);

}  // namespace assay::report
