// The models of a sweep: each is made once, also by workers that share the folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "assay/sweep.h"
#include "report/json_parts.h"
#include "sweep/materials.h"

namespace assay::sweep {

// What is known of a model that was made, or that could not be made.
struct ModelRecord {
  std::string error = "";  // empty: it is there
  double seconds = 0;
  report::Json about = {};
};

class ModelStore {
 public:
  ModelStore(std::filesystem::path folder, Materials& materials);

  // Nothing if it was not made yet, or if its file is not what was written.
  std::optional<ModelRecord> find(const std::string& task) const;
  // Makes it if it is not there; waits for another worker that does. Nothing if `progress`
  // cancelled.
  std::optional<ModelRecord> ensure(const SweepTask& task, Progress* progress);
  // Failed models are made again.
  void retry_errors() { retries_errors_ = true; }

 private:
  std::optional<ModelRecord> make(const SweepTask& task, Progress* progress);
  std::filesystem::path record_path(const std::string& task) const;

  std::filesystem::path folder_;
  Materials& materials_;
  bool retries_errors_ = false;
};

// Of a folder that is only read.
std::optional<ModelRecord> find_model(const std::filesystem::path& folder, const std::string& task);

}  // namespace assay::sweep
