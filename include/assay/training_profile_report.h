// A training profile as people and programs read it: a table of 80 columns, JSON, CSV, and a
// picture of what is in memory while a step runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "assay/layout.h"
#include "assay/training_profile.h"

namespace assay {

struct TrainingReportOptions {
  std::optional<std::size_t> top = {};            // the N slowest layers; 0: all of them
  std::vector<PlannedTraining> batches = {};      // the same step with other batches
  std::optional<std::int64_t> budget_bytes = {};  // what was asked to be fitted
  std::optional<PlannedTraining> largest = {};    // the largest batch that fits it, if any does
  Layout layout = {};
};

std::string training_table(const TrainingProfile& profile,
                           const TrainingReportOptions& options = {});
std::string training_json(const TrainingProfile& profile,
                          const TrainingReportOptions& options = {});
std::string training_csv(const TrainingProfile& profile, const TrainingReportOptions& options = {});

// Memory by what it is for, over the time of a step.
std::string training_memory_png(const TrainingProfile& profile);
std::string training_memory_svg(const TrainingProfile& profile);

}  // namespace assay
