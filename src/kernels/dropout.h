// Which elements a Dropout keeps in training. This depends only on a seed, a step and the
// element's position. It is the same on every machine, for any number of threads, in any order, and
// when a step is recomputed.
#pragma once

#include <cmath>
#include <cstdint>

#include "graph/mixing.h"
#include "graph/seeded.h"

namespace assay::kernels {

class DropoutMask {
 public:
  // The ratio lies in [0, 1).
  DropoutMask(double ratio, std::uint64_t seed, std::uint64_t step)
      : ratio_(ratio), stream_(graph::mixed_bits(graph::mixed_bits(seed) ^ step)) {}

  bool keeps(std::uint64_t element) const { return graph::mixed(stream_ + element) >= least(); }
  // Element i draws mixed(stream + i), and is kept if that is not less than `least`: its first 53
  // bits, as a number in [0, 1), reach the ratio.
  std::uint64_t stream() const { return stream_; }
  std::uint64_t least() const {
    return static_cast<std::uint64_t>(std::ceil(ratio_ * 0x1p53)) << 11;
  }
  // The factor of kept elements, which keeps sums the same on average.
  double scale() const { return 1 / (1 - ratio_); }

 private:
  double ratio_ = 0;
  std::uint64_t stream_ = 0;
};

}  // namespace assay::kernels
