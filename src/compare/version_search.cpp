#include "assay/version_search.h"

#include <filesystem>

#include "assay/confirmed_search.h"
#include "assay/infer.h"
#include "assay/onnx.h"
#include "base/sha256.h"

namespace assay {

namespace {

// Writes each version that a search finds, and compares it with the original in fresh processes.
class WrittenVersions : public ConfirmationSteps {
 public:
  WrittenVersions(const VersionSearch& request, ModelOptimizer& optimizer, Progress& progress)
      : request_(request), optimizer_(optimizer), progress_(progress) {}

  OptimizeResult search(const OptimizeGoal& goal) override {
    comparisons_.emplace_back();
    return optimizer_.search(goal, &progress_);
  }

  CheckedVersion check(const OptimizeResult& result) override {
    write(result);
    if (result.interrupted) return {.interrupted = true};
    try {
      comparisons_.back() = run_in_turns(request_.processes, request_.comparison, progress_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Cancelled) throw;
      return {.interrupted = true};
    }
    return {comparisons_.back()->result, comparisons_.back()->interrupted};
  }

  // The file holds the last version checked, which may not be the best.
  WrittenModel written(const OptimizeResult& best) {
    if (best.chosen && recipe_ != best.best().recipe) write(best);
    return written_;
  }

  std::optional<ModelComparison> comparison(std::size_t round) { return comparisons_[round]; }

 private:
  void write(const OptimizeResult& result) {
    written_ = write_version(result.model, request_.processes.b.model);
    recipe_ = result.best().recipe;
  }

  const VersionSearch& request_;
  ModelOptimizer& optimizer_;
  Progress& progress_;
  std::vector<std::optional<ModelComparison>> comparisons_;  // by round; none if interrupted
  WrittenModel written_;
  VariantRecipe recipe_ = {};  // of the version written
};

}  // namespace

WrittenModel write_version(const Graph& version, const std::string& path) {
  write_onnx(infer_shapes(version).graph, path);
  return {.path = path,
          .sha256 = sha256_of_file(path),
          .bytes = static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

void search_and_confirm(const VersionSearch& request, ModelOptimizer& optimizer,
                        OptimizeReport& report, Progress& progress) {
  const OptimizeTrial& original = optimizer.original(&progress);
  WrittenVersions versions(request, optimizer, progress);
  ConfirmedVersion found = confirmed_search({.goal = request.goal(original),
                                             .target_share = request.target_share,
                                             .is_for_device = !report.device.empty()},
                                            original, versions);
  report.goal = found.goal;
  report.met = found.met;
  report.unconfirmed = std::move(found.unconfirmed);
  report.comparison = versions.comparison(found.round);
  report.written = versions.written(found.result);
  report.result = std::move(found.result);
}

}  // namespace assay
