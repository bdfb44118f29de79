// One quantity of two results side by side: what every report of a comparison prints, and what
// gates judge.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

struct ValueRange {
  double low = 0;
  double high = 0;
};

// An estimate with its 95 % interval.
struct RatioEstimate {
  double value = 1;
  ValueRange ci95 = {};
};

struct MetricKind {
  std::string_view name;     // "latency", "memory_mb"
  std::string_view unit;     // "ms", "MB"; empty for counts
  std::string_view meaning;  // one line
  bool more_is_better = false;
};
// Every metric that can be compared, in the order of reports.
std::span<const MetricKind> metric_kinds();
// The kind of that name; an Error of kind BadInput for others.
const MetricKind& metric_kind(std::string_view name);

struct ComparedMetric {
  std::string name;              // of its kind
  std::optional<double> a = {};  // missing where it is not known
  std::optional<double> b = {};
  bool is_exact = false;  // counted, not measured: the intervals are points
  // 95 % intervals of measured values; missing where the results do not tell.
  std::optional<ValueRange> b_ci95 = {};
  // Of B / A. If both ran in turns, it comes from neighbouring turns, which cancels what slowed
  // down both, and may differ a little from the ratio of `a` and `b`.
  std::optional<RatioEstimate> ratio_estimate = {};
  std::optional<ValueRange> difference_ci95 = {};  // of B - A

  bool is_known() const { return a.has_value() && b.has_value(); }
  std::optional<double> ratio() const;       // of the values; nothing if A is 0
  std::optional<double> best_ratio() const;  // the estimate, else that of the values
  std::optional<double> difference() const;  // B - A
};

}  // namespace assay
