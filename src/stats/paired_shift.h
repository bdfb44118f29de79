// By how much one of a pair exceeds the other, from a handful of pairs.
//
// Hodges and Lehmann's estimate with the interval of Wilcoxon's signed-rank test: exact for any
// noise that treats both of a pair alike, and one disturbed pair does not ruin it.
#pragma once

#include <span>

#include "stats/median_interval.h"

namespace assay::stats {

struct Shift {
  double estimate = 0;
  Interval ci95;
};

// The differences within pairs; below 6 no such interval reaches 95 %, and it is the whole range.
Shift paired_shift(std::span<const double> differences);

}  // namespace assay::stats
