#include "report/compare_words.h"

#include <fmt/core.h>

namespace assay::report {

std::string verdict_words(const Comparison& result, const ComparedNames& names) {
  const auto& [a, b] = names;
  const std::string sure = fmt::format("{:.3f} of {}'s time (95 % interval {:.3f} to {:.3f})",
                                       result.ratio, a, result.ci95_low, result.ci95_high);
  switch (result.verdict) {
    case ComparisonVerdict::Faster:
      return b + " is faster than " + a + ": it takes " + sure;
    case ComparisonVerdict::Slower:
      return b + " is slower than " + a + ": it takes " + sure;
    case ComparisonVerdict::Same:
      return b + " is as fast as " + a + ": it takes " + sure;
    case ComparisonVerdict::Undecided:
      break;
  }
  return "too close or too noisy to call: " + b + " takes " + sure;
}

std::string gate_title(const GateResult& result) {
  return result.row.empty() ? result.gate.text
                            : fmt::format("{} ({})", result.gate.text, result.row);
}

std::string gate_sentence(const GateResult& result) {
  return fmt::format("{}   {}: {}", name(result.verdict), gate_title(result), result.reason);
}

}  // namespace assay::report
