#include "assay/confirmed_search.h"

#include <algorithm>

namespace assay {

namespace {

constexpr double kFirstMargin = 0.98;  // fresh processes differ a little from this one

struct ConfirmedCandidate {
  OptimizeResult result = {};
  std::optional<Comparison> comparison = {};
  std::size_t round = 0;
  bool meets_goal = false;
};

class ConfirmationRounds {
 public:
  ConfirmationRounds(const ConfirmationRequest& request, ConfirmationSteps& steps)
      : request_(request), steps_(steps) {
    found_.goal = request.goal;
  }

  ConfirmedVersion run(const OptimizeTrial& original) && {
    if (is_compared() && !meets_goal(original, {})) found_.goal.margin = kFirstMargin;
    constexpr std::size_t kRounds = 4;
    for (std::size_t round = 0; round < kRounds; ++round) {
      OptimizeResult result = steps_.search(found_.goal);
      if (best_ && was_compared(result)) break;
      const bool seemed_fine = result.met;
      const ConfirmedCandidate candidate = checked(std::move(result), round);
      adopt_if_better(candidate);
      if (!seemed_fine || candidate.meets_goal || candidate.result.interrupted) break;
      found_.goal.margin = stricter_margin(candidate);
    }
    return std::move(*this).finished();
  }

 private:
  bool is_compared() const { return request_.goal.target_ms && !request_.is_for_device; }

  bool was_compared(const OptimizeResult& result) const {
    return std::ranges::count(compared_, result.best().recipe) > 0;
  }

  ConfirmedCandidate checked(OptimizeResult result, std::size_t round) {
    ConfirmedCandidate candidate{.result = std::move(result), .round = round};
    trail_ = candidate.result.trail;
    const OptimizeTrial& version = candidate.result.best();
    compared_.push_back(version.recipe);
    if (candidate.result.chosen) {
      const CheckedVersion seen = steps_.check(candidate.result);
      candidate.comparison = seen.comparison;
      candidate.result.interrupted = candidate.result.interrupted || seen.interrupted;
    }
    candidate.meets_goal = meets_goal(version, candidate.comparison);
    if (version.meets_target && version.is_within_loss && !candidate.meets_goal) {
      found_.unconfirmed.push_back(version.recipe);
    }
    return candidate;
  }

  bool meets_goal(const OptimizeTrial& version, const std::optional<Comparison>& comparison) const {
    if (!version.cost || !version.is_within_loss) return false;
    const OptimizeGoal& goal = request_.goal;
    if (goal.target_mb && version.cost->memory_mb > *goal.target_mb) return false;
    if (!goal.target_ms) return true;
    if (!comparison || !is_compared()) return version.cost->judged_ms() <= *goal.target_ms;
    return is_fast_enough(*comparison);
  }

  bool is_fast_enough(const Comparison& seen) const {
    if (!request_.target_share) return seen.median_b <= *request_.goal.target_ms;
    const double share = *request_.target_share;
    return seen.ratio <= share && seen.median_b <= share * seen.median_a;
  }

  // So that the next version is fast enough if it is misjudged by as much as this one.
  double stricter_margin(const ConfirmedCandidate& candidate) const {
    constexpr double kAtMost = 0.97;  // of the margin before
    const double margin = kAtMost * found_.goal.margin;
    if (!candidate.comparison) return margin;
    const Comparison& fresh = *candidate.comparison;
    const double seen_ms = candidate.result.best().cost->latency.median_ms;
    const double original_ms = candidate.result.original.cost->latency.median_ms;
    const double misjudged =
        request_.target_share ? fresh.ratio / (seen_ms / original_ms) : fresh.median_b / seen_ms;
    return std::min(margin, kFirstMargin / misjudged);
  }

  void adopt_if_better(const ConfirmedCandidate& candidate) {
    if (!best_ || candidate.meets_goal || candidate.result.interrupted || is_faster(candidate)) {
      best_ = candidate;
    }
  }

  bool is_faster(const ConfirmedCandidate& candidate) const {
    if (!candidate.comparison || !best_->comparison) return true;
    return candidate.comparison->ratio < best_->comparison->ratio;
  }

  // A later search only adds versions to the trail.
  ConfirmedVersion finished() && {
    OptimizeResult& result = best_->result;
    if (result.chosen) trail_[*result.chosen] = result.best();
    result.trail = std::move(trail_);
    found_.result = std::move(result);
    found_.comparison = best_->comparison;
    found_.round = best_->round;
    found_.met = best_->meets_goal;
    return std::move(found_);
  }

  const ConfirmationRequest& request_;
  ConfirmationSteps& steps_;
  ConfirmedVersion found_;
  std::optional<ConfirmedCandidate> best_;
  std::vector<OptimizeTrial> trail_;
  std::vector<VariantRecipe> compared_;
};

}  // namespace

ConfirmedVersion confirmed_search(const ConfirmationRequest& request, const OptimizeTrial& original,
                                  ConfirmationSteps& steps) {
  return ConfirmationRounds(request, steps).run(original);
}

}  // namespace assay
