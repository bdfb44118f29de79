// Does the tasks of a plan one after the other, each in a process of its own, and keeps a journal.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/accuracy.h"
#include "assay/sweep.h"
#include "report/json_parts.h"
#include "sweep/isolated.h"
#include "sweep/materials.h"
#include "sweep/model_store.h"

namespace assay::sweep {

class Worker {
 public:
  // All must outlive it.
  Worker(std::filesystem::path folder, const SweepPlan& plan, Materials& materials,
         const SweepOptions& options);

  SweepOutcome work(Progress* progress);
  // Makes all models and measures nothing.
  SweepOutcome prepare(Progress* progress);

 private:
  std::vector<const SweepTask*> own_tasks() const;
  std::string journal_name() const;
  std::optional<std::string> ensure_models(const SweepTask& task, Progress& progress);
  std::optional<std::string> ensure_model(const std::string& id, Progress& progress);
  void note_accuracy(const SweepTask& task, const report::Json& record);
  std::optional<Accuracy> known_accuracy(const SweepTask& task) const;
  IsolatedEnd run(const SweepTask& task, Progress& progress);
  // Nothing if it was cancelled before there was a result.
  std::optional<report::Json> record_of(const SweepTask& task, Progress& progress);

  std::filesystem::path folder_;
  const SweepPlan& plan_;
  Materials& materials_;
  SweepOptions options_;
  ModelStore models_;
  std::map<std::string, const SweepTask*> tasks_;  // by identifier
  std::set<std::string> done_;
  std::map<std::pair<std::string, std::string>, Accuracy> accuracies_;  // by model and precision
  SweepHost host_;
};

}  // namespace assay::sweep
