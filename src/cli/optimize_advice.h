// What to try when no version meets the goal.
#pragma once

#include <string>
#include <vector>

#include "assay/optimize_report.h"
#include "cli/optimize_plan.h"

namespace assay::cli {

// Why the goal was missed, judged by the versions tried, and what may help; none if it is met.
std::vector<std::string> advice_on_miss(const OptimizeReport& report, const OptimizePlan& plan);

}  // namespace assay::cli
