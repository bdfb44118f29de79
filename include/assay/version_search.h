// The search for a version of a model and its confirmation in fresh processes
// (assay/confirmed_search.h); the best version is written as ONNX.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "assay/compare_models.h"
#include "assay/optimize.h"
#include "assay/optimize_report.h"

namespace assay {

struct VersionSearch {
  // A is the original, B the file that versions are written to.
  ComparedProcesses processes = {};
  ComparisonOptions comparison = {};
  std::function<OptimizeGoal(const OptimizeTrial& original)> goal = {};
  std::optional<double> target_share = {};  // of the original's latency, if the target is that
};

// Fills the report's goal, result, comparison and verdict; the best version is then written.
void search_and_confirm(const VersionSearch& request, ModelOptimizer& optimizer,
                        OptimizeReport& report, Progress& progress);

// With inferred types, which other tools need.
WrittenModel write_version(const Graph& version, const std::string& path);

}  // namespace assay
