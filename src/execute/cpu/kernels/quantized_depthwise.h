// A channel-wise convolution of 8-bit numbers, channels last: rows of results, 64 channels at a
// time. Needs vnni().
#pragma once

#include <vector>

#include "execute/cpu/simd/vnni.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

// What the results are made of, one scale for each channel.
struct DepthwiseNumbers {
  Scale8 source, result;
  Clamp8 clamp;
  std::vector<float> scales;         // of a sum, in units of the result
  std::vector<std::int32_t> bias;    // in units of the sums
  std::vector<std::int8_t> weights;  // [channels, height, width]
};

class QuantizedDepthwise {
 public:
  static bool has_form_for(const kernels::WindowGrid& grid);

  QuantizedDepthwise(const kernels::WindowGrid& grid, std::int64_t images, std::int64_t channels,
                     const DepthwiseNumbers& numbers, int threads);

  std::size_t weight_bytes() const { return blocks() * block_bytes(); }
  void pack_weights(const std::int8_t* weights, std::int8_t* packed) const;
  void run(const std::uint8_t* source, const std::int8_t* packed, std::uint8_t* result) const;

 private:
  std::size_t blocks() const { return (channels_ + kVnniChannels - 1) / kVnniChannels; }
  std::size_t filter() const { return static_cast<std::size_t>(grid_.axes[2].kernel); }
  std::size_t block_bytes() const {
    return depthwise_groups(filter()) * filter() * 4 * kVnniChannels;
  }
  void pack_scales(const DepthwiseNumbers& numbers);
  void result_row(const std::uint8_t* image, std::size_t y, const std::int8_t* packed,
                  std::uint8_t* result) const;

  kernels::WindowGrid grid_;
  std::size_t images_ = 0;
  std::size_t channels_ = 0;
  Scale8 source_, result_;
  Clamp8 clamp_;
  int threads_ = 1;
  // By blocks of 64 channels, in the order in which the loops read them.
  std::vector<std::int32_t> bias_;
  std::vector<float> scales_;
  std::vector<std::uint8_t> padding_;
};

}  // namespace assay::cpu
