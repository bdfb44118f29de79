// What the options of `assay optimize` ask for: numbers instead of text, contradictions refused.
#pragma once

#include <optional>

#include "assay/compare_report.h"
#include "assay/optimize.h"
#include "cli/optimize_arguments.h"

namespace assay::cli {

// A figure, or a share of the original's.
struct TargetArgument {
  std::optional<double> number = {};
  std::optional<double> share = {};

  bool is_given() const { return number || share; }
  std::optional<double> of(double original) const {
    return share ? std::optional(*share * original) : number;
  }
};

struct OptimizePlan {
  TargetArgument target_ms;
  TargetArgument target_mb;
  std::optional<double> max_loss;
  bool only_tidies = false;
  double power_watts = 5;
  ComparisonOptions comparison = {};
  OptimizeOptions options = {};

  bool has_target() const { return target_ms.is_given() || target_mb.is_given(); }
  OptimizeGoal goal(const OptimizeTrial& original) const {
    const VariantCost& cost = *original.cost;
    return {target_ms.of(cost.judged_ms()), target_mb.of(cost.memory_mb), max_loss};
  }
};

OptimizePlan plan_of(const OptimizeArguments& arguments);

// Refuses what the data cannot give: calibration, fine-tuning, the activity of channels.
void check_data(const OptimizePlan& plan, const OptimizeArguments& arguments,
                const OptimizeData& data);
// Before the data is loaded.
void check_loss(const OptimizePlan& plan, bool has_data);

}  // namespace assay::cli
