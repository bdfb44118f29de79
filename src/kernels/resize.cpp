// Resize and Upsample, by scales or by sizes, axis by axis.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/gemm.h"
#include "kernels/lanes.h"
#include "kernels/movement.h"
#include "kernels/real.h"
#include "kernels/resize_taps.h"

namespace assay {

namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

// An empty tensor stands for an input left out, as exporters write it.
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

// Before opset 11, and in Upsample, pixels are points and the nearest lies before.
ResizeRule rule_of(const KernelCall& call) {
  ResizeRule rule;
  rule.interpolation = interpolation_of(call);
  if (call.opset < 11 || call.node.op == "Upsample") {
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

using AllTaps = std::vector<std::vector<Taps>>;  // by axis, then by output element

bool has_outside(const AllTaps& taps) {
  return std::ranges::any_of(taps, [](const auto& axis) {
    return std::ranges::any_of(axis, [](const Taps& some) { return some.empty(); });
  });
}

Dims result_dims(const ResizeAxes& axes) {
  Dims dims;
  for (const ResizeAxis& axis : axes) dims.push_back(axis.output);
  return dims;
}

// Elements of any type, each a copy of one.
Tensor picked(const KernelCall& call, const Tensor& input, const Dims& dims, const AllTaps& taps) {
  const Dims strides = row_major_strides(input.dims());
  ElementWriter result(call, input.type(), dims);
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      from += taps[axis][index[axis]][0].index * strides[axis];
    result.copy(i, input, from);
  });
  return result.finish();
}

std::vector<double> resized_along(const std::vector<double>& values, const Lanes& lanes,
                                  const std::vector<Taps>& taps) {
  std::vector<double> results(lanes.outer * taps.size() * lanes.inner);
  double* to = results.data();
  for (std::int64_t outer = 0; outer < lanes.outer; ++outer) {
    for (const Taps& some : taps) {
      for (const Tap& tap : some) {
        const double* from = values.data() + (outer * lanes.length + tap.index) * lanes.inner;
        for (std::int64_t i = 0; i < lanes.inner; ++i) to[i] += tap.weight * from[i];
      }
      to += lanes.inner;
    }
  }
  return results;
}

void fill_outside(std::vector<double>& values, const Dims& dims, const AllTaps& taps, double fill) {
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      if (taps[axis][index[axis]].empty()) values[i] = fill;
    }
  });
}

Tensor interpolated(const KernelCall& call, const Tensor& input, const Dims& dims,
                    const AllTaps& taps) {
  auto values = input.to_double();
  Dims between = input.dims();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (is_identity(taps[axis], between[axis])) continue;
    const Lanes lanes = lanes_along(between, axis);
    between[axis] = dims[axis];
    result_elements(call, between);
    values = resized_along(values, lanes, taps[axis]);
  }
  const double fill = static_cast<double>(call.node.float_or("extrapolation_value", 0));
  if (has_outside(taps)) fill_outside(values, dims, taps, fill);
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    return store<T>(input.type(), dims, rounded_to<T>(values));
  });
}

std::vector<Tensor> resized(const KernelCall& call, const ResizeAxes& axes) {
  const Tensor& input = call.input(0);
  const Dims dims = result_dims(axes);
  const ResizeRule rule = rule_of(call);
  const bool is_empty = result_elements(call, dims) == 0;
  if (!is_empty && input.elements() == 0) call.fail("cannot resize {}", join_dims(input.dims()));
  AllTaps taps;
  for (const ResizeAxis& axis : axes)
    taps.push_back(is_empty ? std::vector<Taps>{} : taps_of(call, rule, axis));
  const bool only_picks = rule.interpolation == Interpolation::Nearest && !has_outside(taps);
  if (is_empty || only_picks) return {picked(call, input, dims, taps)};
  return {interpolated(call, input, dims, taps)};
}

std::vector<Tensor> resize(const KernelCall& call) {
  const Dims& dims = call.input(0).dims();
  const std::size_t scales_at = call.opset < 11 ? 1 : 2;
  const bool has_sizes = call.opset >= 11 && is_used(call, 3);
  if (!has_sizes && !is_used(call, scales_at)) call.fail("has neither scales nor sizes");
  ResizeAxes axes = has_sizes ? axes_by_sizes(call, dims, call.input(3).to_int64())
                              : axes_by_scales(call, dims, call.input(scales_at).to_double());
  const bool crops =
      call.node.string_or("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  if (crops) set_regions(call, axes);
  return resized(call, axes);
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

std::vector<Tensor> upsample(const KernelCall& call) {
  return resized(call, axes_by_scales(call, call.input(0).dims(), upsample_scales(call)));
}

}  // namespace

void add_resize_kernels(KernelTable& table) {
  table["Resize"] = resize;
  table["Upsample"] = upsample;
}

}  // namespace assay
