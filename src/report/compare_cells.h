// A compared metric as text, for tables.
#pragma once

#include <string>
#include <vector>

#include "assay/compare_report.h"

namespace assay::report {

// The titles of `metric_cells`.
std::vector<std::string> metric_titles();
// Name, A, B, B / A, and the change with its 95 % interval.
std::vector<std::string> metric_cells(const ComparedMetric& metric);

}  // namespace assay::report
