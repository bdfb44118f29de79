// Sums of a convolution's weights over the taps that fall on the image: what a unit of the source's
// zero point takes from each result.
#pragma once

#include <array>

#include "execute/cpu/lower/convolution_layer.h"

namespace assay::cpu {

// Windows along an axis by the taps that fall on the image.
struct WindowKinds {
  std::vector<kernels::IndexRange> ranges;  // by kind
  std::vector<std::size_t> of_window;       // the kind of each
};

// By output channel, for each kind of position. Weights come output channel by output channel.
class WeightSums {
 public:
  WeightSums(const ConvolutionLayer& layer, const std::vector<std::int16_t>& weights);

  const std::int32_t* at(std::size_t z, std::size_t y, std::size_t x) const;

 private:
  std::size_t start_of(std::size_t z, std::size_t y, std::size_t x) const;
  void add_kind(const ConvolutionLayer& layer, const std::vector<std::int32_t>& by_tap,
                const std::array<std::size_t, 3>& kind);

  std::int64_t channels_ = 0;
  std::array<WindowKinds, 3> kinds_;
  std::vector<std::int32_t> sums_;
};

}  // namespace assay::cpu
