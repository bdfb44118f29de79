// Gates applied to the rows of a comparison.
#include <algorithm>

#include "assay/compare_report.h"
#include "base/fail.h"

namespace assay {

namespace {

const ComparedMetric* metric_of(const ComparedRow& row, const std::string& name) {
  const auto found = std::ranges::find(row.metrics, name, &ComparedMetric::name);
  return found == row.metrics.end() ? nullptr : &*found;
}

bool is_judged(const Gate& gate, const ComparedRow& row) {
  if (!row.error.empty()) return true;
  const ComparedMetric* metric = metric_of(row, gate.metric);
  return metric != nullptr && metric->b && (metric->a || gate.scale == GateScale::Value);
}

GateResult judge_row(const Gate& gate, const ComparedRow& row) {
  GateResult result{.gate = gate};
  const ComparedMetric* metric = metric_of(row, gate.metric);
  if (!row.error.empty()) {
    result.verdict = GateVerdict::Failed;
    result.reason = "B failed: " + row.error;
  } else if (metric == nullptr) {
    result.reason = gate.metric + " is not known";
  } else {
    result = judge_gate(gate, *metric);
  }
  result.row = row.name;
  return result;
}

}  // namespace

std::vector<GateResult> judge_gates(const std::vector<Gate>& gates,
                                    const std::vector<ComparedRow>& rows) {
  std::vector<GateResult> results;
  for (const Gate& gate : gates) {
    if (std::ranges::none_of(rows, [&](const auto& row) { return is_judged(gate, row); })) {
      fail_bad_input("`fail_if` {}: these results have no {} for both A and B", gate.text,
                     gate.metric);
    }
    for (const ComparedRow& row : rows) results.push_back(judge_row(gate, row));
  }
  return results;
}

bool gates_fail(const CompareReport& report) {
  const GateVerdict worst = worst_verdict(report.gates);
  return worst == GateVerdict::Failed ||
         (worst == GateVerdict::Undecided && report.undecided_fails);
}

}  // namespace assay
