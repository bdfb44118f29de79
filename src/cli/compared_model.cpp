#include "cli/compared_model.h"

#include <unistd.h>

#include "base/fail.h"

namespace assay::cli {

ComparedProcess process_of(const ComparedModel& model) {
  ComparedProcess process{.model = model.model};
  append_words(model.shapes, process.flags);
  append_words(model.engine, process.flags);
  return process;
}

ComparedProcesses processes_of(const ComparedModels& models) {
  return {.a = process_of(models.a), .b = process_of(models.b)};
}

SharedTuning::SharedTuning(EngineArguments& engine) {
  if (!engine.tuning.empty() || !chooses_algorithms(engine)) return;
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (failed) {
    fail_running("cannot create a temporary folder: {}; set TMPDIR to an existing folder",
                 failed.message());
  }
  path_ = folder / fmt::format("assay-tuning-{}", static_cast<long>(::getpid()));
  std::filesystem::remove(path_, failed);  // left behind by an earlier process with the same id
  engine.tuning = path_.string();
  engine.no_tuning = false;  // this file is not kept
}

SharedTuning::~SharedTuning() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

}  // namespace assay::cli
