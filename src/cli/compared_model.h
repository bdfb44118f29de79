// The sides of a comparison, as the command line names them.
#pragma once

#include <filesystem>
#include <string>

#include "assay/compare_models.h"
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

// How a fresh process of this program measures it.
ComparedProcess process_of(const ComparedModel& model);
ComparedProcesses processes_of(const ComparedModels& models);

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
