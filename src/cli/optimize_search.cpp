#include "cli/optimize_search.h"

#include "assay/confirmed_search.h"
#include "base/fail.h"
#include "cli/duel.h"
#include "cli/optimize_files.h"

namespace assay::cli {

namespace {

// Writes each version that a search finds, and compares it with the original in fresh processes.
class WrittenVersions : public ConfirmationSteps {
 public:
  WrittenVersions(const SearchRequest& request, const OptimizePlan& plan, ModelOptimizer& optimizer,
                  Progress& progress)
      : request_(request), plan_(plan), optimizer_(optimizer), progress_(progress) {}

  OptimizeResult search(const OptimizeGoal& goal) override {
    comparisons_.emplace_back();
    return optimizer_.search(goal, &progress_);
  }

  CheckedVersion check(const OptimizeResult& result) override {
    write(result);
    if (result.interrupted) return {.interrupted = true};
    const ComparedModels models{{request_.model, request_.shapes, request_.engine},
                                {request_.output, request_.shapes, request_.engine}};
    try {
      comparisons_.back() = run_in_turns(models, plan_.comparison, progress_);
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
    written_ = write_version(result.model, request_.output);
    recipe_ = result.best().recipe;
  }

  const SearchRequest& request_;
  const OptimizePlan& plan_;
  ModelOptimizer& optimizer_;
  Progress& progress_;
  std::vector<std::optional<ModelComparison>> comparisons_;  // by round; none if interrupted
  WrittenModel written_;
  VariantRecipe recipe_ = {};  // of the version written
};

}  // namespace

void search_and_confirm(const SearchRequest& request, const OptimizePlan& plan,
                        ModelOptimizer& optimizer, OptimizeReport& report, Progress& progress) {
  const OptimizeTrial& original = optimizer.original(&progress);
  WrittenVersions versions(request, plan, optimizer, progress);
  ConfirmedVersion found = confirmed_search({.goal = plan.goal(original),
                                             .target_share = plan.target_ms.share,
                                             .is_for_device = !report.device.empty()},
                                            original, versions);
  report.goal = found.goal;
  report.met = found.met;
  report.unconfirmed = std::move(found.unconfirmed);
  report.comparison = versions.comparison(found.round);
  report.written = versions.written(found.result);
  report.result = std::move(found.result);
}

}  // namespace assay::cli
