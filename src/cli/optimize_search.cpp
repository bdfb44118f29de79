#include "cli/optimize_search.h"

#include <algorithm>

#include "base/fail.h"
#include "cli/duel.h"
#include "cli/optimize_files.h"

namespace assay::cli {

namespace {

// A version that a search found, after its comparison with the original.
struct Candidate {
  OptimizeResult result = {};
  std::optional<ModelComparison> comparison = {};  // missing if it was interrupted
  bool meets_goal = false;
};

class ConfirmedSearch {
 public:
  ConfirmedSearch(const SearchRequest& request, const OptimizePlan& plan, OptimizeReport& report,
                  Progress& progress)
      : request_(request), plan_(plan), report_(report), progress_(progress) {}

  void run(ModelOptimizer& optimizer) {
    const OptimizeTrial& original = optimizer.original(&progress_);
    report_.goal = plan_.goal(original);
    if (is_compared_here() && !meets_goal(original, {})) report_.goal.margin = kFirstMargin;
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      OptimizeResult result = optimizer.search(report_.goal, &progress_);
      if (best_ && was_compared(result)) break;
      const bool seemed_fine = result.met;
      const Candidate candidate = confirmed(std::move(result));
      adopt_if_better(candidate);
      if (!seemed_fine || candidate.meets_goal || candidate.result.interrupted) break;
      report_.goal.margin = stricter_margin(candidate);
    }
    finish();
  }

 private:
  static constexpr double kFirstMargin = 0.98;  // fresh processes differ a little from this one

  // Latencies on other devices are predicted, so there is nothing to confirm.
  bool is_compared_here() const { return report_.goal.target_ms && report_.device.empty(); }

  bool was_compared(const OptimizeResult& result) const {
    return std::ranges::count(compared_, result.best().recipe) > 0;
  }

  Candidate confirmed(OptimizeResult result) {
    Candidate candidate{.result = std::move(result)};
    trail_ = candidate.result.trail;
    const OptimizeTrial& version = candidate.result.best();
    compared_.push_back(version.recipe);
    if (candidate.result.chosen) {
      write(candidate.result);
      compare(candidate);
    }
    candidate.meets_goal = meets_goal(version, candidate.comparison);
    if (version.meets_target && version.is_within_loss && !candidate.meets_goal) {
      report_.unconfirmed.push_back(version.recipe);
    }
    return candidate;
  }

  void write(const OptimizeResult& result) {
    report_.written = write_version(result.model, request_.output);
    written_ = result.best().recipe;
  }

  void compare(Candidate& candidate) {
    if (candidate.result.interrupted) return;
    const ComparedModels models{request_.model, request_.output, request_.shapes, request_.engine};
    try {
      candidate.comparison = run_in_turns(models, plan_.comparison, progress_);
      candidate.result.interrupted = candidate.comparison->interrupted;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Cancelled) throw;
      candidate.result.interrupted = true;
    }
  }

  bool meets_goal(const OptimizeTrial& version,
                  const std::optional<ModelComparison>& comparison) const {
    if (!version.cost || !version.is_within_loss) return false;
    const OptimizeGoal& goal = report_.goal;
    if (goal.target_mb && version.cost->memory_mb > *goal.target_mb) return false;
    if (!goal.target_ms) return true;
    if (!comparison || !is_compared_here()) return version.cost->judged_ms() <= *goal.target_ms;
    return is_fast_enough(comparison->result);
  }

  bool is_fast_enough(const Comparison& result) const {
    if (!plan_.target_ms.share) return result.median_b <= *report_.goal.target_ms;
    const double share = *plan_.target_ms.share;
    return result.ratio <= share && result.median_b <= share * result.median_a;
  }

  // So that the next version is fast enough if it is misjudged by as much as this one.
  double stricter_margin(const Candidate& candidate) const {
    constexpr double kAtLeast = 0.97;  // of the margin before
    const Comparison& fresh = candidate.comparison->result;
    const double seen_ms = candidate.result.best().cost->latency.median_ms;
    const double original_ms = candidate.result.original.cost->latency.median_ms;
    const double misjudged =
        plan_.target_ms.share ? fresh.ratio / (seen_ms / original_ms) : fresh.median_b / seen_ms;
    return std::min(kAtLeast * report_.goal.margin, kFirstMargin / misjudged);
  }

  void adopt_if_better(const Candidate& candidate) {
    if (!best_ || candidate.meets_goal || candidate.result.interrupted || is_faster(candidate)) {
      best_ = candidate;
    }
  }

  bool is_faster(const Candidate& candidate) const {
    if (!candidate.comparison || !best_->comparison) return true;
    return candidate.comparison->result.ratio < best_->comparison->result.ratio;
  }

  // The best version, and the versions that all searches tried: a later search only adds some.
  void finish() {
    OptimizeResult& result = best_->result;
    if (result.chosen && written_ != result.best().recipe) write(result);
    if (result.chosen) trail_[*result.chosen] = result.best();
    result.trail = std::move(trail_);
    report_.result = std::move(result);
    report_.comparison = std::move(best_->comparison);
    report_.met = best_->meets_goal;
  }

  const SearchRequest& request_;
  const OptimizePlan& plan_;
  OptimizeReport& report_;
  Progress& progress_;
  std::optional<Candidate> best_;
  std::vector<OptimizeTrial> trail_;
  std::vector<VariantRecipe> compared_;
  VariantRecipe written_ = {};
};

}  // namespace

void search_and_confirm(const SearchRequest& request, const OptimizePlan& plan,
                        ModelOptimizer& optimizer, OptimizeReport& report, Progress& progress) {
  ConfirmedSearch(request, plan, report, progress).run(optimizer);
}

}  // namespace assay::cli
