// The search for a version and its confirmation in fresh processes (confirmed_search.h).
#pragma once

#include "assay/optimize_report.h"
#include "cli/console.h"
#include "cli/optimize_plan.h"

namespace assay::cli {

struct SearchRequest {
  std::string model;   // as the user named it
  std::string output;  // where versions are written
  ModelArguments shapes = {};
  EngineArguments engine = {};
};

// Fills the report's goal, result, comparison and verdict; the best version is then written.
void search_and_confirm(const SearchRequest& request, const OptimizePlan& plan,
                        ModelOptimizer& optimizer, OptimizeReport& report, Progress& progress);

}  // namespace assay::cli
