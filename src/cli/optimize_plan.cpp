#include "cli/optimize_plan.h"

#include "base/fail.h"
#include "cli/model_argument.h"

namespace assay::cli {

namespace {

TargetArgument parse_target(const char* flag, const std::string& text) {
  if (text.empty()) return {};
  if (!text.ends_with('%')) return {.number = parse_decimal(flag, text, 1e-9)};
  return {.share = parse_decimal(flag, text.substr(0, text.size() - 1), 1e-9) / 100};
}

std::optional<VariantPrecision> asked_precision(const OptimizeArguments& arguments) {
  const std::string& precision = arguments.engine.precision;
  const std::string& weights = arguments.model.weights;
  if (!precision.empty() && !weights.empty()) {
    fail_usage("--precision {} and --weights {} exclude each other", precision, weights);
  }
  if (!weights.empty() && weights != "int8" && weights != "int4") {
    fail_usage("--weights {}: expected int8 or int4", weights);
  }
  if (!weights.empty()) return variant_precision_named("weights-" + weights);
  if (precision.empty()) return {};
  return variant_precision_named(precision);
}

void check_something_to_do(const OptimizePlan& plan) {
  const OptimizeOptions& options = plan.options;
  if (options.prune || options.precision || options.low_rank || plan.only_tidies ||
      plan.has_target() || plan.max_loss)
    return;
  fail_usage(
      "nothing to do: give --precision, --weights, --prune, --low-rank or --tidy, or a goal to "
      "search for: "
      "--target-ms, --target-mb or --max-loss");
}

std::optional<double> parse_share(const char* flag, const std::string& text) {
  if (text.empty()) return {};
  const double share = parse_decimal(flag, text, 0);
  if (share >= 1) fail_usage("{} {}: expected a share from 0 to below 1", flag, text);
  return share;
}

PruneOptions pruning_of(const OptimizeArguments& arguments) {
  PruneOptions options{.criterion = prune_criterion_named(arguments.criterion),
                       .ranking = prune_ranking_named(arguments.ranking)};
  const bool is_level_searched = arguments.prune.empty();
  if (!arguments.round_to.empty()) {
    options.round_to = count_or("--round-to", arguments.round_to, 1);
  } else if (is_level_searched) {
    options.round_to = 16;     // what vector registers hold without a rest
    options.least_widths = 4;  // half of a narrow layer can go all the same
  }
  return options;
}

QuantizeOptions quantization_of(const OptimizeArguments& arguments) {
  QuantizeOptions options{.per_channel = !arguments.per_tensor, .equalize = arguments.equalize};
  if (!arguments.calibration_method.empty()) {
    options.calibration = calibration_method(arguments.calibration_method);
  }
  if (!arguments.percentile.empty()) {
    options.percentile = parse_decimal("--percentile", arguments.percentile, 50, 100);
  }
  return options;
}

OptimizeOptions options_of(const OptimizeArguments& arguments) {
  OptimizeOptions options;
  options.prune = parse_share("--prune", arguments.prune);
  options.low_rank = parse_share("--low-rank", arguments.low_rank);
  options.tidies = !arguments.no_tidy;
  options.pruning = pruning_of(arguments);
  options.searches_bfloat16 = arguments.allow_bf16;
  options.measures_widths = arguments.measured_widths;
  options.quantization = quantization_of(arguments);
  options.precision = asked_precision(arguments);
  options.finetune_epochs = count_or("--finetune", arguments.finetune, 0);
  if (!arguments.finetune_rate.empty()) {
    options.finetune_rate = parse_decimal("--finetune-lr", arguments.finetune_rate, 1e-12);
  }
  return options;
}

// --- what the data must give

void check_calibration(const OptimizePlan& plan, const OptimizeData& data) {
  if (plan.options.precision != VariantPrecision::Int8 || data.calibration.batches > 0) return;
  fail_usage(
      "--precision int8 needs data to calibrate with: --calibrate FOLDER of .npy files, or "
      "--dataset NAME; --calibrate random takes seeded inputs, whose ranges are not those of "
      "real data");
}

void check_finetuning(const OptimizePlan& plan, const OptimizeData& data) {
  if (plan.options.finetune_epochs == 0) return;
  if (!data.training) fail_usage("--finetune needs labels: give --dataset NAME");
  const bool searches = (plan.has_target() || plan.max_loss) && !plan.options.prune;
  const bool is_cut =
      plan.options.prune.value_or(0) > 0 || plan.options.low_rank.value_or(0) > 0 || searches;
  if (!is_cut) fail_usage("--finetune requires --prune, --low-rank or a target");
}

void check_activity(const OptimizePlan& plan, const OptimizeData& data) {
  const bool needs_data = plan.options.pruning.criterion == PruneCriterion::Activation;
  if (!needs_data || data.calibration.batches > 0) return;
  fail_usage(
      "--criterion activation needs data to observe: --calibrate FOLDER, --dataset NAME or "
      "--calibrate random");
}

void check_sensitivity(const OptimizeArguments& arguments, const OptimizeData& data) {
  if (!arguments.sensitivity || data.calibration.batches > 0) return;
  fail_usage(
      "--sensitivity needs data to calibrate with: --calibrate FOLDER, --dataset NAME or "
      "--calibrate random");
}

}  // namespace

OptimizePlan plan_of(const OptimizeArguments& arguments) {
  OptimizePlan plan;
  plan.target_ms = parse_target("--target-ms", arguments.target_ms);
  plan.target_mb = parse_target("--target-mb", arguments.target_mb);
  if (!arguments.max_loss.empty()) {
    plan.max_loss = parse_decimal("--max-loss", arguments.max_loss, 0, 100);
  }
  if (!arguments.power_watts.empty()) {
    plan.power_watts = parse_decimal("--power-watts", arguments.power_watts, 1e-9);
  }
  if (!arguments.max_time.empty()) {
    plan.comparison.max_seconds = parse_decimal("--max-time", arguments.max_time, 0.1);
  }
  plan.options = options_of(arguments);
  plan.only_tidies = arguments.tidy;
  // Of the time for the last comparison, by default 0.3 to 3 seconds for each version.
  plan.options.timing.min_seconds = plan.comparison.max_seconds / 200;
  plan.options.timing.max_seconds = plan.comparison.max_seconds / 20;
  check_something_to_do(plan);
  return plan;
}

void check_loss(const OptimizePlan& plan, bool has_data) {
  if (!plan.max_loss || has_data) return;
  fail_usage(
      "--max-loss needs data to measure the loss on: --dataset NAME for accuracy, --calibrate "
      "FOLDER or --input NAME=x.npy for agreement with the original; --calibrate random takes "
      "seeded inputs");
}

void check_data(const OptimizePlan& plan, const OptimizeArguments& arguments,
                const OptimizeData& data) {
  check_calibration(plan, data);
  check_finetuning(plan, data);
  check_sensitivity(arguments, data);
  check_activity(plan, data);
}

}  // namespace assay::cli
