// Series of samples with known properties.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "stats/random.h"

namespace assay::testing {

// Log-normal around 1 with the given deviation of the log; each log keeps `persistence` of the one
// before it.
inline std::vector<double> noisy_series(std::size_t count, double deviation, double persistence,
                                        std::uint64_t seed) {
  Random random(seed);
  std::vector<double> series(count);
  double state = random.normal();
  for (double& value : series) {
    state = persistence * state + std::sqrt(1 - persistence * persistence) * random.normal();
    value = std::exp(deviation * state);
  }
  return series;
}

}  // namespace assay::testing
