#include "kernels/resize_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "kernels/lanes.h"
#include "kernels/real.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

// Exporters write an empty tensor for an omitted input.
bool is_used(const KernelCall& call, std::size_t input) {
  return call.has(input) && call.input(input).elements() != 0;
}

Interpolation interpolation_of(const KernelCall& call) {
  const std::string mode = call.node.string_or("mode", "nearest");
  if (mode == "nearest") return Interpolation::Nearest;
  if (mode == "linear" || mode == "bilinear") return Interpolation::Linear;
  if (mode == "cubic") return Interpolation::Cubic;
  call.fail("mode '{}' is not known", mode);
}

bool is_old_form(const KernelCall& call) {
  return call.node.op == "Upsample" || (call.node.is_standard() && call.opset < 11);
}

// Old versions have asymmetric coordinates and round down.
ResizeRule rule_of(const KernelCall& call) {
  ResizeRule rule;
  rule.interpolation = interpolation_of(call);
  if (is_old_form(call)) {
    rule.coordinates = "asymmetric";
    rule.nearest = "floor";
    return rule;
  }
  const Node& node = call.node;
  rule.coordinates = node.string_or("coordinate_transformation_mode", "half_pixel");
  rule.nearest = node.string_or("nearest_mode", "round_prefer_floor");
  rule.cubic_coefficient = static_cast<double>(node.float_or("cubic_coeff_a", -0.75f));
  rule.excludes_outside = node.int_or("exclude_outside", 0) != 0;
  rule.smooths_when_smaller = node.int_or("antialias", 0) != 0;
  return rule;
}

// floor(input · scale), in float as every engine does it.
std::int64_t scaled_size(const KernelCall& call, std::int64_t input, double scale) {
  if (!(scale > 0) || !std::isfinite(scale)) call.fail("scale {} is not positive", scale);
  if (scale == 1) return input;
  const float size = std::floor(static_cast<float>(input) * static_cast<float>(scale));
  if (!(size < static_cast<float>(kLargestSize)))
    call.fail("{} times {} is too large", input, scale);
  return static_cast<std::int64_t>(size);
}

std::vector<std::size_t> resized_axes(const KernelCall& call, std::size_t rank) {
  Dims all(rank);
  std::iota(all.begin(), all.end(), 0);
  const Dims given = call.node.ints_or("axes", all);
  if (!normalized_axes(given, rank))
    call.fail("axes {} do not fit rank {}", join_dims(given), rank);
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : given) axes.push_back(*normalized_axis(axis, rank));
  return axes;
}

void check_count(const KernelCall& call, const char* what, std::size_t given, std::size_t needed) {
  if (given != needed) call.fail("{} has {} numbers, needs {}", what, given, needed);
}

using ResizeAxes = std::vector<ResizeAxis>;  // one for every axis of the input

ResizeAxes unchanged_axes(const Dims& dims) {
  ResizeAxes axes;
  for (const std::int64_t dim : dims) axes.push_back({dim, dim, 1, 0, 1});
  return axes;
}

ResizeAxes axes_by_scales(const KernelCall& call, const Dims& dims,
                          const std::vector<double>& scales) {
  const auto chosen = resized_axes(call, dims.size());
  check_count(call, "scales", scales.size(), chosen.size());
  ResizeAxes axes = unchanged_axes(dims);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    ResizeAxis& axis = axes[chosen[i]];
    axis.output = scaled_size(call, axis.input, scales[i]);
    axis.scale = scales[i];
  }
  return axes;
}

// One scale for all axes: the smallest that is needed, or the largest.
void keep_aspect(const KernelCall& call, ResizeAxes& axes, const std::vector<std::size_t>& chosen,
                 bool is_not_larger) {
  if (chosen.empty()) return;
  double common = axes[chosen[0]].scale;
  for (const std::size_t i : chosen)
    common = is_not_larger ? std::min(common, axes[i].scale) : std::max(common, axes[i].scale);
  for (const std::size_t i : chosen) {
    const double size = std::floor(common * static_cast<double>(axes[i].input) + 0.5);
    if (!(size < static_cast<double>(kLargestSize))) call.fail("a resized axis is too large");
    axes[i].scale = common;
    axes[i].output = static_cast<std::int64_t>(size);
  }
}

ResizeAxes axes_by_sizes(const KernelCall& call, const Dims& dims, const Dims& sizes) {
  const auto chosen = resized_axes(call, dims.size());
  check_count(call, "sizes", sizes.size(), chosen.size());
  ResizeAxes axes = unchanged_axes(dims);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    ResizeAxis& axis = axes[chosen[i]];
    if (sizes[i] < 0 || sizes[i] > kLargestSize)
      call.fail("a size of {} is out of range", sizes[i]);
    if (axis.input == 0) call.fail("cannot resize an empty axis");
    axis.output = sizes[i];
    axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.input);
  }
  const std::string policy = call.node.string_or("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return axes;
  if (policy != "not_larger" && policy != "not_smaller")
    call.fail("keep_aspect_ratio_policy '{}' is not known", policy);
  keep_aspect(call, axes, chosen, policy == "not_larger");
  return axes;
}

// All starts, then all ends, of the axes that are resized.
void set_regions(const KernelCall& call, ResizeAxes& axes) {
  const auto chosen = resized_axes(call, axes.size());
  if (!is_used(call, 1)) call.fail("tf_crop_and_resize needs a region of interest");
  const auto region = call.input(1).to_double();
  check_count(call, "roi", region.size(), 2 * chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    axes[chosen[i]].region_start = region[i];
    axes[chosen[i]].region_end = region[chosen.size() + i];
  }
}

// Scales were two attributes, then one, then an input.
std::vector<double> upsample_scales(const KernelCall& call) {
  if (is_used(call, 1)) return call.input(1).to_double();
  if (const auto* scales = call.node.get<std::vector<float>>("scales"))
    return {scales->begin(), scales->end()};
  const float* height = call.node.get<float>("height_scale");
  const float* width = call.node.get<float>("width_scale");
  if (height == nullptr || width == nullptr) call.fail("has no scales");
  return {1, 1, static_cast<double>(*height), static_cast<double>(*width)};
}

ResizeAxes axes_of(const KernelCall& call, const Dims& dims) {
  if (call.node.op == "Upsample") return axes_by_scales(call, dims, upsample_scales(call));
  const std::size_t scales_at = is_old_form(call) ? 1 : 2;
  const bool has_sizes = !is_old_form(call) && is_used(call, 3);
  if (!has_sizes && !is_used(call, scales_at)) call.fail("has neither scales nor sizes");
  ResizeAxes axes = has_sizes ? axes_by_sizes(call, dims, call.input(3).to_int64())
                              : axes_by_scales(call, dims, call.input(scales_at).to_double());
  const bool crops =
      call.node.string_or("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  if (crops) set_regions(call, axes);
  return axes;
}

Dims result_dims(const ResizeAxes& axes) {
  Dims dims;
  for (const ResizeAxis& axis : axes) dims.push_back(axis.output);
  return dims;
}

}  // namespace

ResizePlan resize_plan(const KernelCall& call, const Dims& dims) {
  const ResizeAxes axes = axes_of(call, dims);
  const ResizeRule rule = rule_of(call);
  ResizePlan plan{.dims = result_dims(axes), .interpolation = rule.interpolation};
  const bool is_empty = result_elements(call, plan.dims) == 0;
  if (!is_empty && product_or_zero(dims) == 0) call.fail("cannot resize {}", join_dims(dims));
  for (const ResizeAxis& axis : axes)
    plan.taps.push_back(is_empty ? std::vector<Taps>{} : taps_of(call, rule, axis));
  return plan;
}

bool ResizePlan::has_outside() const {
  return std::ranges::any_of(taps, [](const auto& axis) {
    return std::ranges::any_of(axis, [](const Taps& some) { return some.empty(); });
  });
}

}  // namespace assay::kernels
