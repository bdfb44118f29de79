// What a verdict and the result of a gate mean, in words.
#pragma once

#include <string>

#include "assay/compare_report.h"

namespace assay::report {

struct ComparedNames {
  std::string a = "A";
  std::string b = "B";
};
std::string verdict_words(const Comparison& result, const ComparedNames& names = {});

// "FAILED latency>5%: latency changed by …"
std::string gate_sentence(const GateResult& result);
// "latency>5%", of a sweep "latency>5% (pruning 0.25, int8)"
std::string gate_title(const GateResult& result);

}  // namespace assay::report
