#include "kernels/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace assay::kernels {

namespace {

// Where output element `at` lies on the input's axis.
double original_coordinate(const KernelCall& call, const ResizeRule& rule, const ResizeAxis& axis,
                           std::int64_t at) {
  const auto x = static_cast<double>(at);
  const auto input = static_cast<double>(axis.input);
  const auto output = static_cast<double>(axis.output);
  const double exact_output = input * axis.scale;  // before it was rounded to a size
  const std::string& mode = rule.coordinates;
  if (mode == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel") return output > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode == "align_corners") return exact_output == 1 ? 0 : x * (input - 1) / (exact_output - 1);
  if (mode == "half_pixel_symmetric")
    return input / 2 * (1 - output / exact_output) + (x + 0.5) / axis.scale - 0.5;
  if (mode != "tf_crop_and_resize")
    call.fail("coordinate_transformation_mode '{}' is not known", mode);
  if (output <= 1) return 0.5 * (axis.region_start + axis.region_end) * (input - 1);
  const double step = (axis.region_end - axis.region_start) / (output - 1);
  return (axis.region_start + x * step) * (input - 1);
}

// The coordinate is rounded to float first: engines compute it so, and 3 must not become 2.9999999.
double nearest_to(const KernelCall& call, const std::string& mode, double coordinate) {
  const double x = static_cast<double>(static_cast<float>(coordinate));
  if (mode == "round_prefer_floor") return std::ceil(x - 0.5);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  call.fail("nearest_mode '{}' is not known", mode);
}

Taps nearest_tap(const KernelCall& call, const ResizeRule& rule, const ResizeAxis& axis, double x) {
  const double nearest = nearest_to(call, rule.nearest, x);
  const auto last = static_cast<double>(axis.input - 1);
  return {{static_cast<std::int64_t>(std::clamp(nearest, 0.0, last)), 1}};
}

double weight_at(const ResizeRule& rule, double distance) {
  if (rule.interpolation == Interpolation::Cubic)
    return cubic_weight(distance, rule.cubic_coefficient);
  return std::max(0.0, 1 - std::fabs(distance));
}

// Taps beyond the axis repeat its ends, or are left out.
Taps weighted_taps(const ResizeRule& rule, const ResizeAxis& axis, double x) {
  const double reach = rule.interpolation == Interpolation::Cubic ? 2 : 1;
  const double filter_scale = rule.smooths_when_smaller ? std::min(axis.scale, 1.0) : 1;
  const auto first = static_cast<std::int64_t>(std::floor(-reach / filter_scale)) + 1;
  const auto base = static_cast<std::int64_t>(std::floor(x));
  Taps taps;
  double sum = 0;
  for (std::int64_t i = base + first; i <= base + 1 - first; ++i) {
    const bool is_outside = i < 0 || i >= axis.input;
    if (is_outside && rule.excludes_outside) continue;
    const double weight = weight_at(rule, filter_scale * (static_cast<double>(i) - x));
    if (weight == 0) continue;
    taps.push_back({std::clamp<std::int64_t>(i, 0, axis.input - 1), weight});
    sum += weight;
  }
  for (Tap& tap : taps) tap.weight /= sum;
  return taps;
}

}  // namespace

double cubic_weight(double distance, double coefficient) {
  const double x = std::fabs(distance);
  const double a = coefficient;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

std::vector<Taps> taps_of(const KernelCall& call, const ResizeRule& rule, const ResizeAxis& axis) {
  const bool crops = rule.coordinates == "tf_crop_and_resize";
  const auto last = static_cast<double>(axis.input - 1);
  std::vector<Taps> all;
  for (std::int64_t at = 0; at < axis.output; ++at) {
    const double x = original_coordinate(call, rule, axis, at);
    const bool is_inside = x >= 0 && x <= last;
    if (crops && !is_inside)
      all.emplace_back();
    else if (rule.interpolation == Interpolation::Nearest)
      all.push_back(nearest_tap(call, rule, axis, x));
    else
      all.push_back(weighted_taps(rule, axis, x));
  }
  return all;
}

bool is_identity(const std::vector<Taps>& taps, std::int64_t input) {
  if (static_cast<std::int64_t>(taps.size()) != input) return false;
  for (std::int64_t i = 0; i < input; ++i) {
    const bool is_itself = taps[i].size() == 1 && taps[i][0].index == i && taps[i][0].weight == 1;
    if (!is_itself) return false;
  }
  return true;
}

}  // namespace assay::kernels
