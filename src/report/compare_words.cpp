#include "report/compare_words.h"

#include <fmt/core.h>

namespace assay::report {

std::string verdict_words(const Comparison& result) {
  const std::string sure = fmt::format("{:.3f} of A's time (95 % interval {:.3f} to {:.3f})",
                                       result.ratio, result.ci95_low, result.ci95_high);
  switch (result.verdict) {
    case ComparisonVerdict::Faster:
      return "B is faster than A: it takes " + sure;
    case ComparisonVerdict::Slower:
      return "B is slower than A: it takes " + sure;
    case ComparisonVerdict::Same:
      return "B is as fast as A: it takes " + sure;
    case ComparisonVerdict::Undecided:
      break;
  }
  return "too close or too noisy to call: B takes " + sure;
}

}  // namespace assay::report
