// A limit on the change from A to B, or on B, such as "latency>5%": it fails only if the 95 %
// interval lies beyond the limit, and passes only if the interval lies within it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/compared_metric.h"

namespace assay {

// What the number of a gate is compared with.
enum class GateScale {
  Value,    // "memory_mb>64": B itself
  Change,   // "latency>+2", "accuracy<-0.5": B - A, in percentage points for an accuracy
  Percent,  // "latency>5%": the change relative to A
};

struct Gate {
  std::string text;  // as it was written
  std::string metric;
  GateScale scale = GateScale::Value;
  bool fails_above = true;      // false: it fails below the limit
  bool fails_at_limit = false;  // ">=", "<="
  double limit = 0;
};

// METRIC, one of > < >= <=, and a number: with '%' relative to A, with a sign a change from A,
// without either B's own value. An unknown metric or a bad number is an Error of kind Usage.
Gate parse_gate(std::string_view text);
// Whether it fails when B is better than A, which is probably a mistake.
bool fails_improvements(const Gate& gate);

enum class GateVerdict { Passed, Failed, Undecided };
std::string_view name(GateVerdict verdict);  // "PASSED", "FAILED", "UNDECIDED"

struct GateResult {
  Gate gate;
  std::string row = "";  // the row of a sweep; empty for two models
  GateVerdict verdict = GateVerdict::Undecided;
  std::string reason = "";  // with the figures
};

GateResult judge_gate(const Gate& gate, const ComparedMetric& metric);

// The worst of them: Failed, else Undecided, else Passed.
GateVerdict worst_verdict(std::span<const GateResult> results);

}  // namespace assay
