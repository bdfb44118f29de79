#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "assay/sweep_result.h"
#include "base/text.h"

namespace assay {

namespace {

bool is_within_latency(const SweepRow& row, const SweepConfig& config) {
  return !config.latency_budget_ms || row.metrics->latency_ms <= *config.latency_budget_ms;
}

// Why a row has nothing to be judged by; empty if it has.
std::string failure_of(const SweepRow& row) {
  if (!row.error.empty()) return row.error;
  if (!row.metrics) return "it was not measured";
  if (!std::isfinite(row.metrics->accuracy)) return "its accuracy is not a number";
  if (!std::isfinite(row.metrics->latency_ms)) return "its latency is not a number";
  return "";
}

bool fits_budgets(const SweepRow& row, const SweepConfig& config) {
  return row.accepted && failure_of(row).empty() && is_within_latency(row, config);
}

double best_accuracy(const std::vector<SweepRow>& rows, const SweepConfig& config) {
  double best = 0;
  for (const SweepRow& row : rows) {
    if (fits_budgets(row, config)) best = std::max(best, row.metrics->accuracy);
  }
  return best;
}

double points_below(double best, const SweepRow& row) {
  return 100 * (best - row.metrics->accuracy);
}

bool is_accurate_enough(double best, const SweepRow& row, const SweepConfig& config) {
  constexpr double kRounding = 1e-9;
  return points_below(best, row) <= config.max_accuracy_loss + kRounding;
}

// Latency for each sample, so that batches of several sizes compare.
double sample_ms(const SweepRow& row) {
  return row.metrics->latency_ms / static_cast<double>(std::max<std::int64_t>(1, row.batch_size));
}

// Eligible rows, the fastest first; of equal ones the more accurate.
std::vector<std::size_t> ranked(const std::vector<SweepRow>& rows, const SweepConfig& config,
                                double best) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!fits_budgets(rows[i], config)) continue;
    if (is_accurate_enough(best, rows[i], config)) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (sample_ms(rows[a]) != sample_ms(rows[b])) return sample_ms(rows[a]) < sample_ms(rows[b]);
    return rows[a].metrics->accuracy > rows[b].metrics->accuracy;
  });
  return order;
}

bool is_measured_alike(const SweepRow& row, const SweepRow& other) {
  return row.batch_size == other.batch_size && row.threads == other.threads;
}

// Both were measured in turns with the baseline, so its conditions cancel. Errors of independent
// measurements add up in squares.
std::optional<LatencyRatio> ratio_between(const SweepRow& row, const SweepRow& other) {
  if (!is_measured_alike(row, other) || !row.latency_vs_baseline || !other.latency_vs_baseline)
    return std::nullopt;
  const LatencyRatio& a = *row.latency_vs_baseline;
  const LatencyRatio& b = *other.latency_vs_baseline;
  if (!(a.ci95_low > 0 && b.ci95_low > 0)) return std::nullopt;
  const double middle = std::log(a.ratio) - std::log(b.ratio);
  const double half =
      std::hypot(std::log(a.ci95_high / a.ci95_low) / 2, std::log(b.ci95_high / b.ci95_low) / 2);
  return LatencyRatio{std::exp(middle), std::exp(middle - half), std::exp(middle + half)};
}

// The next of the same setting, which it can be compared with; else the next of all.
std::size_t runner_up_of(const std::vector<SweepRow>& rows, const std::vector<std::size_t>& order) {
  const SweepRow& first = rows[order.front()];
  for (std::size_t i = 1; i < order.size(); ++i) {
    const SweepRow& row = rows[order[i]];
    if (row.batch_size == first.batch_size && row.threads == first.threads) return order[i];
  }
  return order[1];
}

void compare_with_runner_up(const std::vector<SweepRow>& rows, SweepDecision& decision) {
  const SweepRow& row = rows[*decision.recommended];
  const SweepRow& other = rows[*decision.runner_up];
  decision.versus_runner_up = ratio_between(row, other);
  if (!decision.versus_runner_up) {
    decision.runner_up_note = fmt::format(
        "the runner-up, {}, was {}", describe(other),
        is_measured_alike(row, other) ? "not measured in turns with the same baseline"
                                      : "measured at another batch size or number of threads");
    return;
  }
  const LatencyRatio& ratio = *decision.versus_runner_up;
  decision.is_beyond_noise = ratio.ci95_high < 1 || ratio.ci95_low > 1;
  decision.runner_up_note = fmt::format(
      "it takes {:.3f} times as long as the runner-up, {} (95 % interval {:.3f} to {:.3f}): {}",
      ratio.ratio, describe(other), ratio.ci95_low, ratio.ci95_high,
      decision.is_beyond_noise ? "beyond noise"
                               : "within noise, so either is as good a choice on speed");
}

std::string reason_for(const SweepRow& row, const SweepConfig& config, double best) {
  std::string budgets = fmt::format("stores at most {:g} MB", config.active_memory_budget_mb);
  if (config.latency_budget_ms) {
    budgets += fmt::format(", takes at most {:g} ms", *config.latency_budget_ms);
  }
  return fmt::format(
      "the fastest version that {} and loses at most {:g} {} against the most accurate one: "
      "{:.2f} % accuracy ({:.2f} points below the best), {}, {:.4g} MB",
      budgets, config.max_accuracy_loss, config.max_accuracy_loss == 1 ? "point" : "points",
      100 * row.metrics->accuracy, points_below(best, row), duration_text(row.metrics->latency_ms),
      row.metrics->memory_mb);
}

RejectedRow rejection_of(std::size_t index, const SweepRow& row, const SweepConfig& config,
                         double best, const SweepRow* recommended) {
  if (const std::string failure = failure_of(row); !failure.empty()) {
    return {index, Rejection::Failed, "failed: " + failure};
  }
  const PerfMetrics& metrics = *row.metrics;
  if (!row.accepted) {
    return {index, Rejection::OverMemory,
            fmt::format("stores {:.4g} MB, over the budget of {:g} MB", metrics.memory_mb,
                        config.active_memory_budget_mb)};
  }
  if (!is_within_latency(row, config)) {
    return {index, Rejection::OverLatency,
            fmt::format("takes {}, over the budget of {:g} ms", duration_text(metrics.latency_ms),
                        *config.latency_budget_ms)};
  }
  if (!is_accurate_enough(best, row, config) || recommended == nullptr) {
    return {index, Rejection::LessAccurate,
            fmt::format("loses {:.2f} points against the most accurate version",
                        points_below(best, row))};
  }
  return {index, Rejection::Slower,
          fmt::format("takes {:.3f} times as long as the recommended version",
                      sample_ms(row) / sample_ms(*recommended))};
}

std::string why_none(const std::vector<SweepRow>& rows, const SweepConfig& config) {
  const bool has_measured =
      std::ranges::any_of(rows, [](const SweepRow& row) { return row.metrics.has_value(); });
  if (!has_measured) return "no version could be measured";
  std::string budgets = fmt::format("{:g} MB", config.active_memory_budget_mb);
  if (config.latency_budget_ms) budgets += fmt::format(" and {:g} ms", *config.latency_budget_ms);
  return "no version is within the budget of " + budgets;
}

}  // namespace

std::string describe(const SweepRow& row) {
  std::string text = row.precision;
  if (row.pruning_level > 0) text += fmt::format(", pruned by {:g}", row.pruning_level);
  return text;
}

SweepDecision decide(const std::vector<SweepRow>& rows, const SweepConfig& config) {
  SweepDecision decision;
  const double best = best_accuracy(rows, config);
  const std::vector<std::size_t> order = ranked(rows, config, best);
  const SweepRow* recommended = order.empty() ? nullptr : &rows[order.front()];
  if (recommended == nullptr) {
    decision.reason = why_none(rows, config);
  } else {
    decision.recommended = order.front();
    decision.reason = reason_for(*recommended, config, best);
  }
  if (order.size() > 1) {
    decision.runner_up = runner_up_of(rows, order);
    compare_with_runner_up(rows, decision);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (decision.recommended == i) continue;
    decision.rejected.push_back(rejection_of(i, rows[i], config, best, recommended));
  }
  return decision;
}

}  // namespace assay
