// Which elements a Dropout keeps in training. That follows from a seed, a step and the element's
// place alone: the same on every machine, on any number of threads, in any order, and again when a
// step is computed a second time.
#pragma once

#include <cstdint>

#include "graph/seeded.h"

namespace assay {

class DropoutMask {
 public:
  DropoutMask(double ratio, std::uint64_t seed, std::uint64_t step)
      : ratio_(ratio), stream_(mixed_bits(mixed_bits(seed) ^ step)) {}

  bool keeps(std::uint64_t element) const {
    constexpr double kUnit = 0x1p-53;  // the first 53 bits as a number in [0, 1)
    return static_cast<double>(mixed_bits(stream_ + element) >> 11) * kUnit >= ratio_;
  }
  // What kept elements are multiplied with, so that sums stay the same on average.
  double scale() const { return 1 / (1 - ratio_); }

 private:
  double ratio_ = 0;
  std::uint64_t stream_ = 0;
};

}  // namespace assay
