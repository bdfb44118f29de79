// The confidence interval of a proportion.
#pragma once

#include <cstdint>

#include "stats/median_interval.h"

namespace assay::stats {

// The 95 % interval of successes / total by Wilson (1927), which stays within 0..1 and is accurate
// near its ends too. From 0 to 1 if `total` is 0.
Interval wilson_interval(std::int64_t successes, std::int64_t total);

// The 95 % interval of the second of two proportions less the first, over the same `total` samples:
// `gained` succeed only the second time, `lost` only the first. Wald's interval with half a sample
// added to each of the four cells (Agresti and Min 2005). From -1 to 1 if `total` is 0.
Interval paired_difference_interval(std::int64_t gained, std::int64_t lost, std::int64_t total);

}  // namespace assay::stats
