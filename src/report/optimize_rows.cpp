#include "report/optimize_rows.h"

#include <algorithm>

namespace assay::report {

namespace {

template <typename Part, typename Member>
Json member_json(const std::optional<Part>& part, Member Part::*member) {
  return part ? Json((*part).*member) : Json(nullptr);
}

Json accuracy_json(const std::optional<VariantQuality>& quality) {
  if (!quality || !quality->accuracy) return nullptr;
  return quality->accuracy->value;
}

Json latency_json(const std::optional<VariantCost>& cost, double LatencySummary::*member) {
  return cost ? Json(cost->latency.*member) : Json(nullptr);
}

Json latency_json(const std::optional<VariantCost>& cost,
                  std::optional<double> LatencySummary::*member) {
  return cost ? optional_json(cost->latency.*member) : Json(nullptr);
}

Json device_latency_json(const std::optional<VariantCost>& cost) {
  if (!cost || !cost->on_device) return nullptr;
  return optional_json(cost->on_device->estimate_ms);
}

bool is_too_large(const OptimizeGoal& goal, const VariantCost& cost) {
  return goal.target_mb && cost.memory_mb > *goal.target_mb;
}

// Below the target, but not by the margin that a confirmation needs.
bool is_too_close(const OptimizeGoal& goal, const VariantCost& cost) {
  return goal.target_ms && cost.judged_ms() > goal.margin * *goal.target_ms;
}

std::string kind_of_success(const OptimizeReport& report, const OptimizeTrial& trial) {
  if (!report.goal.has_target()) return "fine";
  if (report.goal.max_loss && !trial.loss_points) return "not judged";
  if (std::ranges::count(report.unconfirmed, trial.recipe) > 0) return "unconfirmed";
  const bool is_written = report.met && trial.recipe == report.result.best().recipe;
  return is_written || !is_too_close(report.goal, *trial.cost) ? "met" : "too close";
}

}  // namespace

std::vector<OptimizeTrial> all_versions(const OptimizeReport& report) {
  std::vector<OptimizeTrial> all = {report.result.original};
  all.insert(all.end(), report.result.trail.begin(), report.result.trail.end());
  return all;
}

NamedFigures trial_figures(const OptimizeTrial& trial) {
  const auto& cost = trial.cost;
  const auto& quality = trial.quality;
  return {{"version", describe(trial.recipe)},
          {"prune", trial.recipe.prune},
          {"precision", name(trial.recipe.precision)},
          {"low_rank", trial.recipe.low_rank},
          {"tidy", trial.recipe.tidy},
          {"latency_ms", latency_json(cost, &LatencySummary::median_ms)},
          {"latency_ci95_low_ms", latency_json(cost, &LatencySummary::ci95_low_ms)},
          {"latency_ci95_high_ms", latency_json(cost, &LatencySummary::ci95_high_ms)},
          {"device_latency_ms", device_latency_json(cost)},
          {"memory_mb", member_json(cost, &VariantCost::memory_mb)},
          {"runtime_memory_mb", member_json(cost, &VariantCost::runtime_memory_mb)},
          {"parameters", member_json(cost, &VariantCost::parameters)},
          {"macs", member_json(cost, &VariantCost::macs)},
          {"accuracy", accuracy_json(quality)},
          {"agreement", member_json(quality, &VariantQuality::agreement)},
          {"snr_db", quality ? optional_json(quality->snr_db) : Json(nullptr)},
          {"loss_points", optional_json(trial.loss_points)},
          {"meets_target", trial.meets_target},
          {"within_loss", trial.is_within_loss},
          {"error", trial.error}};
}

std::string trial_outcome(const OptimizeReport& report, const OptimizeTrial& trial) {
  if (!trial.cost) return "failed";
  const bool has_goal = report.goal.has_target() || report.goal.max_loss;
  if (!has_goal) return "";
  if (trial.meets_target && trial.is_within_loss) return kind_of_success(report, trial);
  if (trial.meets_target) return "too lossy";
  return is_too_large(report.goal, *trial.cost) ? "too large" : "too slow";
}

}  // namespace assay::report
