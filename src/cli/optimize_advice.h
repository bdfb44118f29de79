// What to try when no version meets the goal, or when it is uncertain whether one does.
#pragma once

#include <string>
#include <vector>

#include "assay/optimize_report.h"
#include "cli/optimize_plan.h"

namespace assay::cli {

// Why the goal was missed, judged by the versions tried, and what may help; none if it is met.
// Where the target is a share of the original's latency: also whether the measured ratio is
// certain.
std::vector<std::string> advice_on_target(const OptimizeReport& report, const OptimizePlan& plan);

}  // namespace assay::cli
