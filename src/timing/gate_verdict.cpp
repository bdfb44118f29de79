// Whether a gate passes or fails, from the interval of what it limits.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "assay/gate.h"

namespace assay {

namespace {

// Accuracies change by percentage points.
double points_per_unit(const Gate& gate) {
  return gate.metric == "accuracy" ? 100 : 1;
}

// What the gate limits, in the unit of its limit.
struct Limited {
  std::optional<double> value;
  std::optional<ValueRange> ci95;
};

std::optional<ValueRange> scaled(const std::optional<ValueRange>& range, double offset,
                                 double factor) {
  if (!range) return {};
  return ValueRange{factor * (range->low + offset), factor * (range->high + offset)};
}

std::optional<double> relative_change(const ComparedMetric& metric) {
  if (!metric.is_known()) return {};
  if (const auto ratio = metric.best_ratio()) return 100 * (*ratio - 1);
  // From nothing to something is more than any percentage.
  return *metric.b == 0 ? 0 : std::numeric_limits<double>::infinity();
}

std::optional<double> absolute_change(const ComparedMetric& metric) {
  if (metric.ratio_estimate && metric.a) return *metric.a * (metric.ratio_estimate->value - 1);
  return metric.difference();
}

std::optional<ValueRange> estimated_range(const ComparedMetric& metric) {
  return metric.ratio_estimate ? std::optional(metric.ratio_estimate->ci95) : std::nullopt;
}

// From the interval of the ratio if there is none of the difference, and the other way round.
std::optional<ValueRange> difference_range(const ComparedMetric& metric) {
  if (metric.difference_ci95 || !metric.a) return metric.difference_ci95;
  return scaled(estimated_range(metric), -1, *metric.a);
}

std::optional<ValueRange> percent_range(const ComparedMetric& metric) {
  if (metric.ratio_estimate) return scaled(estimated_range(metric), -1, 100);
  if (!metric.a || *metric.a == 0) return {};
  return scaled(metric.difference_ci95, 0, 100 / *metric.a);
}

Limited measured(const Gate& gate, const ComparedMetric& metric) {
  switch (gate.scale) {
    case GateScale::Value:
      return {metric.b, metric.b_ci95};
    case GateScale::Change: {
      const double points = points_per_unit(gate);
      const auto change = absolute_change(metric);
      return {change ? std::optional(points * *change) : std::nullopt,
              scaled(difference_range(metric), 0, points)};
    }
    case GateScale::Percent:
      break;
  }
  return {relative_change(metric), percent_range(metric)};
}

Limited limited(const Gate& gate, const ComparedMetric& metric) {
  Limited figure = measured(gate, metric);
  if (metric.is_exact && figure.value) figure.ci95 = ValueRange{*figure.value, *figure.value};
  return figure;
}

bool is_beyond(const Gate& gate, double value) {
  if (value == gate.limit) return gate.fails_at_limit;
  return gate.fails_above ? value > gate.limit : value < gate.limit;
}

GateVerdict verdict_of(const Gate& gate, const ValueRange& range) {
  const bool low_fails = is_beyond(gate, range.low);
  const bool high_fails = is_beyond(gate, range.high);
  if (low_fails != high_fails) return GateVerdict::Undecided;
  return low_fails ? GateVerdict::Failed : GateVerdict::Passed;
}

std::string figure_text(const Gate& gate, double figure) {
  const std::string_view unit = metric_kind(gate.metric).unit;
  const std::string in_unit = unit.empty() ? "" : fmt::format(" {}", unit);
  if (gate.scale == GateScale::Percent) return fmt::format("{:+.2f} %", figure);
  if (gate.scale == GateScale::Value) return fmt::format("{:.6g}{}", figure, in_unit);
  return gate.metric == "accuracy" ? fmt::format("{:+.2f} points", figure)
                                   : fmt::format("{:+.4g}{}", figure, in_unit);
}

std::string figures_text(const Gate& gate, const ComparedMetric& metric, const Limited& figure) {
  const std::string subject =
      metric.name + (gate.scale == GateScale::Value ? " of B is " : " changed by ");
  std::string text = subject + figure_text(gate, *figure.value);
  if (metric.is_exact || !figure.ci95) return text;
  return text + fmt::format(" (95 % interval {} to {})", figure_text(gate, figure.ci95->low),
                            figure_text(gate, figure.ci95->high));
}

std::string_view verdict_reason(const Gate& gate, GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::Passed:
      if (gate.fails_at_limit) return gate.fails_above ? "below" : "above";
      return gate.fails_above ? "not above" : "not below";
    case GateVerdict::Failed:
      if (gate.fails_at_limit) return gate.fails_above ? "not below" : "not above";
      return gate.fails_above ? "above" : "below";
    case GateVerdict::Undecided:
      break;
  }
  return "which contains";
}

}  // namespace

std::string_view name(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::Passed:
      return "PASSED";
    case GateVerdict::Failed:
      return "FAILED";
    case GateVerdict::Undecided:
      break;
  }
  return "UNDECIDED";
}

GateResult judge_gate(const Gate& gate, const ComparedMetric& metric) {
  GateResult result{.gate = gate};
  const Limited figure = limited(gate, metric);
  if (!figure.value) {
    const bool lacks_a = !metric.a && gate.scale != GateScale::Value;
    result.reason = fmt::format("{} of {} is not known", metric.name, lacks_a ? "A" : "B");
    return result;
  }
  const std::string figures = figures_text(gate, metric, figure);
  if (!figure.ci95) {
    result.reason = figures + ", without a confidence interval";
    return result;
  }
  result.verdict = verdict_of(gate, *figure.ci95);
  result.reason = fmt::format("{}, {} the limit of {}", figures,
                              verdict_reason(gate, result.verdict), figure_text(gate, gate.limit));
  return result;
}

GateVerdict worst_verdict(std::span<const GateResult> results) {
  const auto has = [&](GateVerdict verdict) {
    return std::ranges::any_of(results, [&](const auto& one) { return one.verdict == verdict; });
  };
  if (has(GateVerdict::Failed)) return GateVerdict::Failed;
  return has(GateVerdict::Undecided) ? GateVerdict::Undecided : GateVerdict::Passed;
}

}  // namespace assay
