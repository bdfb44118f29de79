// Whether a series is steady, drifts, or changes its level at some point.
//
// Both tests look at ranks, so that outliers neither hide nor feign a change, and both account for
// correlated noise. A change too small to matter is no change.
#pragma once

#include <cstddef>
#include <span>

namespace assay::stats {

enum class Steadiness { Steady, Drift, LevelChange };

struct SteadinessTest {
  Steadiness found = Steadiness::Steady;
  // Drift: from the first sample to the last. Level change: from before it to after it.
  double relative_change = 0;
  std::size_t position = 0;  // level change: the first sample of the new level
};
SteadinessTest test_steadiness(std::span<const double> samples, double smallest_change = 0.01);

}  // namespace assay::stats
