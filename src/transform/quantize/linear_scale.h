// The arithmetic of 8-bit numbers: real = (number - zero point) × scale.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/tensor.h"

namespace assay::transform {

// Of an activation, stored as uint8.
struct LinearScale {
  float scale = 1;
  std::int32_t zero_point = 0;
};

// The range is widened to include 0, which is then represented exactly. A range of nothing but 0
// gets the scale 1.
LinearScale scale_for_range(double least, double greatest);

std::uint8_t to_uint8(float number, const LinearScale& how);

// The elements of a float32 tensor; a copy only where a mapped file does not align them.
class FloatElements {
 public:
  explicit FloatElements(const Tensor& tensor);
  FloatElements(const FloatElements&) = delete;
  FloatElements& operator=(const FloatElements&) = delete;

  std::span<const float> all() const { return all_; }

 private:
  Tensor tensor_;  // keeps the bytes
  std::vector<float> copy_;
  std::span<const float> all_;
};

struct WeightCodes {
  Tensor codes;               // int8, from -127 to 127
  std::vector<float> scales;  // one, or one for each position along the axis
};

// `least_scales` are lower bounds, one for each position along the axis, or none.
WeightCodes coded_weight(const Tensor& weight, std::size_t axis, bool per_channel,
                         std::span<const float> least_scales);

}  // namespace assay::transform
