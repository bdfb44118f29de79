// Which of two models is faster: pairs of fresh processes that measure in turns, until the verdict
// is certain or the time is up.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "assay/compare_report.h"
#include "assay/progress.h"
#include "cli/engine_options.h"
#include "cli/model_options.h"

namespace assay::cli {

struct ComparedModel {
  std::string model;
  ModelArguments shapes = {};  // its model stays empty
  EngineArguments engine = {};
};

struct ComparedModels {
  ComparedModel a;
  ComparedModel b;
};

// Whether what was measured so far is enough.
using IsDecided = std::function<bool(const ModelComparison&)>;
bool has_verdict(const ModelComparison& comparison);

// When interrupted after at least one whole pair, the result so far, marked as such; before that an
// Error of kind Cancelled.
ModelComparison run_in_turns(const ComparedModels& models, const ComparisonOptions& options,
                             Progress& progress, const IsDecided& is_decided = has_verdict);

// One process that measures alone, for comparison with a stored profile.
StoredProfile profile_alone(const ComparedModel& model, const ComparisonOptions& options,
                            Progress& progress);
ComparedSide stored_side(const StoredProfile& profile);

// A tuning file for all processes, if the user named none: equal layers get the same algorithms on
// both sides, in every process, so that the models are compared and not random differences in that
// choice.
class SharedTuning {
 public:
  explicit SharedTuning(EngineArguments& engine);
  SharedTuning(const SharedTuning&) = delete;
  SharedTuning& operator=(const SharedTuning&) = delete;
  ~SharedTuning();

 private:
  std::filesystem::path path_;
};

}  // namespace assay::cli
