#include "cli/optimize_advice.h"

#include <algorithm>

#include "base/fail.h"

namespace assay::cli {

namespace {

bool has_labels(const OptimizeReport& report) {
  const auto& quality = report.result.original.quality;
  return quality && quality->accuracy;
}

// The version that meets the target and loses least.
const OptimizeTrial* least_loss(const OptimizeReport& report) {
  const OptimizeTrial* best = nullptr;
  for (const OptimizeTrial& trial : report.result.trail) {
    if (!trial.meets_target || !trial.loss_points) continue;
    if (best == nullptr || *trial.loss_points < *best->loss_points) best = &trial;
  }
  return best;
}

const OptimizeTrial* most_pruned(const OptimizeReport& report) {
  const auto& trail = report.result.trail;
  const auto most = std::ranges::max_element(
      trail, {}, [](const OptimizeTrial& trial) { return trial.cost ? trial.recipe.prune : -1; });
  const bool is_pruned = most != trail.end() && most->cost && most->recipe.prune > 0;
  return is_pruned ? &*most : nullptr;
}

std::string on_too_much_loss(const OptimizeReport& report, const OptimizePlan& plan,
                             const OptimizeTrial& trial) {
  const std::int64_t epochs = plan.options.finetune_epochs;
  std::string training;
  if (has_labels(report) && (trial.recipe.prune > 0 || trial.recipe.low_rank > 0)) {
    training = epochs == 0 ? "--finetune 2 trains such versions; or " : "fine-tune longer, or ";
  }
  return fmt::format(
      "'{}' would meet the target but loses {:.2f} points: {}allow a larger --max-loss",
      describe(trial.recipe), *trial.loss_points, training);
}

std::string on_little_gain(const OptimizeTrial& trial, const VariantCost& original) {
  return fmt::format(
      "'{}' has {:.0f} % of the MACs and takes {:.0f} % of the time: the rest does not depend on "
      "widths (the start of each step, layers that cannot be pruned)",
      describe(trial.recipe),
      100 * static_cast<double>(trial.cost->macs) / static_cast<double>(original.macs),
      100 * trial.cost->judged_ms() / original.judged_ms());
}

bool is_uncertain(const OptimizeReport& report) {
  if (!report.met || !report.comparison || !report.target_share || !report.device.empty()) {
    return false;
  }
  return report.comparison->result.ci95_high > *report.target_share;
}

std::string on_noise(const OptimizeReport& report) {
  return fmt::format(
      "the ratio meets the target, but its 95 % interval reaches {:.3f}: measure again when "
      "nothing "
      "else runs, or allow more --max-time",
      report.comparison->result.ci95_high);
}

}  // namespace

std::vector<std::string> advice_on_target(const OptimizeReport& report, const OptimizePlan& plan) {
  if (report.result.interrupted || !report.goal.has_target()) return {};
  if (is_uncertain(report)) return {on_noise(report)};
  if (report.met) return {};
  const OptimizeTrial* lossy = least_loss(report);
  if (lossy != nullptr && !lossy->is_within_loss) return {on_too_much_loss(report, plan, *lossy)};
  const OptimizeTrial* smallest = most_pruned(report);
  const VariantCost& original = *report.result.original.cost;
  const bool is_too_slow = smallest != nullptr && !smallest->meets_target && report.goal.target_ms;
  if (is_too_slow && original.macs > 0) return {on_little_gain(*smallest, original)};
  return {};
}

}  // namespace assay::cli
