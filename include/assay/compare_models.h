// Which of two models is faster: pairs of fresh processes that measure in turns, until the verdict
// is certain or the time is up; or two stored profiles, without running anything.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/compare_report.h"
#include "assay/machine.h"
#include "assay/progress.h"

namespace assay {

// A model as `assay profile` takes it.
struct ComparedProcess {
  std::string model;
  std::vector<std::string> flags = {};  // of `assay profile`: shapes, engine, threads
};

struct ComparedProcesses {
  ComparedProcess a;
  ComparedProcess b;
  std::filesystem::path program = "/proc/self/exe";  // the command line, which measures
};

// Whether what was measured so far is enough.
using IsDecided = std::function<bool(const ModelComparison&)>;
bool has_verdict(const ModelComparison& comparison);

// When cancelled after at least one whole pair, the result so far, marked as such; before that an
// Error of kind Cancelled.
ModelComparison run_in_turns(const ComparedProcesses& processes, const ComparisonOptions& options,
                             Progress& progress, const IsDecided& is_decided = has_verdict);

// One process that measures alone, for comparison with a stored profile.
StoredProfile profile_alone(const ComparedProcess& process, const std::filesystem::path& program,
                            const ComparisonOptions& options, Progress& progress);

// The samples of both, with an interval that allows for processes that differ as much as those of
// this machine do.
ModelComparison compare_profiles(const StoredProfile& a, const StoredProfile& b,
                                 const ComparisonOptions& options);

// How much processes differ on this machine: profiles a small model in fresh ones, one after the
// other; takes about 6 s.
std::optional<ProcessSpread> measured_process_spread(const std::filesystem::path& program,
                                                     Progress& progress);

// Adds warnings where the two ran on other threads or with other batches.
void warn_of_settings(ModelComparison& comparison);

}  // namespace assay
