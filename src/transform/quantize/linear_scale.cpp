#include "transform/quantize/linear_scale.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace assay::transform {

namespace {

constexpr float kLargestCode = 127;
// Products of two scales stay normal floats.
constexpr float kLeastScale = 1e-18f;

// To the nearest, to the even one of two: of 24 bits that a float has, none is left for a fraction.
std::int8_t rounded(float code) {
  constexpr float kNoFraction = 3 << 22;
  return static_cast<std::int8_t>(static_cast<std::int32_t>(code + kNoFraction) - (3 << 22));
}

std::vector<float> largest_magnitudes(std::span<const float> numbers, std::int64_t channels,
                                      std::int64_t inner) {
  std::vector<float> largest(static_cast<std::size_t>(channels), 0);
  const auto stride = static_cast<std::size_t>(inner);
  for (std::size_t i = 0; i < numbers.size(); i += stride) {
    float most = 0;
    for (std::size_t j = i; j < i + stride; ++j) most = std::max(most, std::abs(numbers[j]));
    float& known = largest[i / stride % largest.size()];
    known = std::max(known, most);
  }
  return largest;
}

}  // namespace

FloatElements::FloatElements(const Tensor& tensor) : tensor_(tensor) {
  const auto bytes = tensor_.bytes();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0;
  if (tensor_.type() != DataType::Float32 || !is_aligned) copy_ = tensor_.to_vector<float>();
  all_ = copy_.empty()
             ? std::span(reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float))
             : std::span<const float>(copy_);
}

LinearScale scale_for_range(double least, double greatest) {
  constexpr double kSteps = 255;
  const double low = std::min(least, 0.0);
  const double high = std::max(greatest, 0.0);
  if (high - low == 0) return {1.0f, 0};
  const auto scale = std::max(static_cast<float>((high - low) / kSteps), kLeastScale);
  const double zero = std::nearbyint(-low / static_cast<double>(scale));
  return {scale, static_cast<std::int32_t>(std::clamp(zero, 0.0, kSteps))};
}

std::uint8_t to_uint8(float number, const LinearScale& how) {
  const float steps = std::nearbyint(number / how.scale) + static_cast<float>(how.zero_point);
  return static_cast<std::uint8_t>(std::clamp(steps, 0.0f, 255.0f));
}

WeightCodes coded_weight(const Tensor& weight, std::size_t axis, bool per_channel,
                         std::span<const float> least_scales) {
  const FloatElements elements(weight);
  const std::span<const float> numbers = elements.all();
  const auto& dims = weight.dims();
  const std::int64_t inner = checked_product(std::span(dims).subspan(axis + 1)).value_or(0);
  WeightCodes coded;
  coded.scales = largest_magnitudes(numbers, dims[axis], inner);
  for (std::size_t c = 0; c < coded.scales.size(); ++c) {
    const float bound = least_scales.empty() ? 0.0f : least_scales[c];
    coded.scales[c] = std::max(coded.scales[c] / kLargestCode, bound);
  }
  if (!per_channel) coded.scales = {*std::ranges::max_element(coded.scales)};
  for (float& scale : coded.scales) scale = scale == 0 ? 1.0f : std::max(scale, kLeastScale);
  std::vector<std::int8_t> codes(numbers.size());
  const auto stride = static_cast<std::size_t>(inner);
  for (std::size_t i = 0; i < numbers.size(); i += stride) {
    const std::size_t channel = i / stride % static_cast<std::size_t>(dims[axis]);
    const float scale = coded.scales[per_channel ? channel : 0];
    for (std::size_t j = i; j < i + stride; ++j)
      codes[j] = rounded(std::clamp(numbers[j] / scale, -kLargestCode, kLargestCode));
  }
  coded.codes = Tensor::of<std::int8_t>(DataType::Int8, dims, codes);
  return coded;
}

}  // namespace assay::transform
