// METRIC > NUMBER, as users write it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "assay/gate.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

void check_gate_metric(std::string_view text, std::string_view metric) {
  std::vector<std::string> names;
  for (const MetricKind& kind : metric_kinds()) names.emplace_back(kind.name);
  if (std::ranges::find(names, metric) != names.end()) return;
  const auto near = nearest(metric, names);
  fail_usage("`fail_if` {}: there is no metric '{}'; {}", text, metric,
             near ? "did you mean '" + *near + "'?" : "there are " + join(names, ", "));
}

double gate_limit(std::string_view text, std::string_view number) {
  double limit = 0;
  const std::string_view digits = number.substr(number.starts_with('+') ? 1 : 0);
  const bool is_signed_once = digits == number || !digits.starts_with('-');
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), limit);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size() &&
                         std::isfinite(limit) && is_signed_once;
  if (!is_number) {
    fail_usage("`fail_if` {}: '{}' is not a number; write for example latency>5% or memory_mb>64",
               text, number);
  }
  return limit;
}

GateScale scale_of(std::string_view number) {
  if (number.ends_with('%')) return GateScale::Percent;
  return number.starts_with('+') || number.starts_with('-') ? GateScale::Change : GateScale::Value;
}

}  // namespace

Gate parse_gate(std::string_view text) {
  const auto sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) {
    fail_usage("`fail_if` {}: expected METRIC>NUMBER or METRIC<NUMBER, for example latency>5%",
               text);
  }
  Gate gate{.text = std::string(trimmed(text)),
            .metric = std::string(trimmed(text.substr(0, sign)))};
  check_gate_metric(gate.text, gate.metric);
  gate.fails_above = text[sign] == '>';
  std::string_view number = text.substr(sign + 1);
  gate.fails_at_limit = number.starts_with('=');
  if (gate.fails_at_limit) number.remove_prefix(1);
  number = trimmed(number);
  gate.scale = scale_of(number);
  if (gate.scale == GateScale::Percent) number = trimmed(number.substr(0, number.size() - 1));
  gate.limit = gate_limit(gate.text, number);
  return gate;
}

bool fails_improvements(const Gate& gate) {
  if (gate.scale == GateScale::Value) return false;
  const bool more_is_better = metric_kind(gate.metric).more_is_better;
  const bool is_beyond_zero = gate.fails_above ? gate.limit >= 0 : gate.limit <= 0;
  return is_beyond_zero && gate.fails_above == more_is_better;
}

}  // namespace assay
