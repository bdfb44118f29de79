// Mean and variance of a range of numbers in two passes, because the one-pass formula loses digits.
#pragma once

#include <cmath>

#include "kernels/lanes.h"

namespace assay::kernels {

struct LaneMoments {
  double mean = 0;
  double variance = 0;  // divided by n, not by n - 1

  double inverse_deviation(double epsilon) const { return 1 / std::sqrt(variance + epsilon); }
};

inline LaneMoments moments_of(Lane<double> lane) {
  LaneMoments moments;
  const auto count = static_cast<double>(lane.length);
  for (std::int64_t i = 0; i < lane.length; ++i) moments.mean += lane[i];
  moments.mean /= count;
  for (std::int64_t i = 0; i < lane.length; ++i)
    moments.variance += (lane[i] - moments.mean) * (lane[i] - moments.mean);
  moments.variance /= count;
  return moments;
}

}  // namespace assay::kernels
