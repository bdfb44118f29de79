// Convolutions of any rank, grouped, dilated, transposed, quantised.
//
// Nominal: every output element takes (channels per group × kernel) MACs. Effective: taps that fall
// on padding are left out, counted exactly from the geometry of each axis.
#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

struct Axis {
  std::int64_t small = 0;  // positions that the kernel visits
  std::int64_t large = 0;  // positions that it reads (or, transposed, writes)
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// Keeps an untrusted number small enough that its negative and a sum with it do not overflow.
std::int64_t bounded(std::int64_t number) {
  constexpr std::int64_t kBound = std::int64_t{1} << 61;
  return std::clamp(number, -kBound, kBound);
}

// How many positions o in [0, small) have 0 ≤ o·stride + tap·dilation − pad < large.
std::int64_t positions_inside(const Axis& axis, std::int64_t tap) {
  const std::int64_t shift =
      saturating_add(saturating_multiply(tap, axis.dilation), -bounded(axis.pad_begin));
  const std::int64_t first = std::max<std::int64_t>(0, -floor_divide(shift, axis.stride));
  const std::int64_t last = std::min(
      axis.small - 1, floor_divide(saturating_add(axis.large - 1, -bounded(shift)), axis.stride));
  return std::max<std::int64_t>(0, last - first + 1);
}

std::int64_t pairs_inside(const Axis& axis) {
  // No real kernel is this long, and the sum below is linear in its length.
  constexpr std::int64_t kLongestKernel = 8192;
  if (axis.kernel > kLongestKernel) return saturating_multiply(axis.small, axis.kernel);
  std::int64_t pairs = 0;
  for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
    pairs = saturating_add(pairs, positions_inside(axis, tap));
  }
  return pairs;
}

// The padding at the beginning of one axis, however the node states it.
std::int64_t pad_before(const Node& node, std::size_t axis, std::size_t spatial,
                        const Axis& geometry) {
  const std::string automatic = node.string_or("auto_pad", "NOTSET");
  if (automatic == "VALID") return 0;
  // A transposed convolution that states its output's shape derives the padding from it.
  const bool is_derived = node.find("output_shape") != nullptr;
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER" || is_derived) {
    const std::int64_t span =
        saturating_add(saturating_multiply(geometry.small - 1, geometry.stride),
                       saturating_multiply(geometry.kernel - 1, geometry.dilation));
    const std::int64_t total = std::max<std::int64_t>(0, bounded(span) + 1 - geometry.large);
    return automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  const auto pads = node.ints_or("pads", {});
  return pads.size() == 2 * spatial ? pads[axis] : 0;
}

std::int64_t at_or(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise) {
  return i < list.size() && list[i] > 0 ? list[i] : otherwise;
}

std::int64_t valid_pairs(const Node& node, std::span<const std::int64_t> small,
                         std::span<const std::int64_t> large,
                         std::span<const std::int64_t> kernel) {
  const auto strides = node.ints_or("strides", {});
  const auto dilations = node.ints_or("dilations", {});
  std::int64_t pairs = 1;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    Axis axis{.small = small[i], .large = large[i], .kernel = kernel[i]};
    axis.stride = at_or(strides, i, 1);
    axis.dilation = at_or(dilations, i, 1);
    axis.pad_begin = pad_before(node, i, kernel.size(), axis);
    pairs = saturating_multiply(pairs, pairs_inside(axis));
  }
  return pairs;
}

struct Geometry {
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> weight;
  std::vector<std::int64_t> output;
};

Geometry geometry_of(const OpView& op, std::size_t weight_input) {
  Geometry g{op.input_dims(0), op.input_dims(weight_input), op.output_dims(0)};
  const bool fits =
      g.input.size() >= 3 && g.input.size() == g.weight.size() && g.input.size() == g.output.size();
  if (!fits) {
    fail_bad_input("{} '{}': input, weight and output have ranks {}, {} and {}", op.node().op,
                   op.graph().display_name(op.id()), g.input.size(), g.weight.size(),
                   g.output.size());
  }
  return g;
}

std::span<const std::int64_t> spatial(const std::vector<std::int64_t>& dims) {
  return std::span(dims).subspan(2);
}

std::string form_of(const Node& node, const Geometry& g) {
  std::vector<std::string> sides;
  for (const std::int64_t side : spatial(g.weight)) sides.push_back(std::to_string(side));
  const bool takes_all_channels = g.weight[1] == g.input[1];
  const bool takes_one = g.weight[1] == 1 && g.input[1] > 1;
  const auto strides = node.ints_or("strides", {});
  const std::int64_t stride = strides.empty() ? 1 : std::ranges::max(strides);
  return (takes_one            ? "depthwise "
          : takes_all_channels ? ""
                               : "grouped ") +
         join(sides, "x") + (stride > 1 ? "/" + std::to_string(stride) : "");
}

Work convolution(const OpView& op, std::size_t weight_input, std::size_t bias_input) {
  const Geometry g = geometry_of(op, weight_input);
  // Weight is [out channels, in channels / group, kernel...].
  const std::int64_t per_position = saturating_multiply(
      saturating_multiply(g.output[0], g.output[1]), g.weight[1]);  // batch · out · in per group
  Work work;
  work.macs = saturating_multiply(saturating_multiply(per_position, product(spatial(g.output))),
                                  product(spatial(g.weight)));
  work.effective_macs = saturating_multiply(
      per_position, valid_pairs(op.node(), spatial(g.output), spatial(g.input), spatial(g.weight)));
  if (op.has_input(bias_input)) work.bias_flops = product(g.output);
  work.form = form_of(op.node(), g);
  return work;
}

Work conv(const OpView& op) {
  return convolution(op, 1, 2);
}

Work conv_integer(const OpView& op) {
  constexpr std::size_t kNoBias = 99;
  return convolution(op, 1, kNoBias);
}

Work qlinear_conv(const OpView& op) {
  Work work = convolution(op, 3, 8);
  work.other_flops = saturating_multiply(2, op.output_elements());  // rescale and round
  return work;
}

// Each sampled tap is interpolated bilinearly: 4 multiply-adds, 8 FLOPs.
Work deform_conv(const OpView& op) {
  Work work = convolution(op, 1, 3);
  work.effective_macs = work.macs;
  work.other_flops = saturating_multiply(8, op.input_elements(2) / 2);
  return work;
}

// Weight is [in channels, out channels / group, kernel...]; every input element visits the kernel.
Work conv_transpose(const OpView& op) {
  const Geometry g = geometry_of(op, 1);
  const std::int64_t per_position =
      saturating_multiply(saturating_multiply(g.input[0], g.input[1]), g.weight[1]);
  Work work;
  work.macs = saturating_multiply(saturating_multiply(per_position, product(spatial(g.input))),
                                  product(spatial(g.weight)));
  work.effective_macs = saturating_multiply(
      per_position, valid_pairs(op.node(), spatial(g.input), spatial(g.output), spatial(g.weight)));
  if (op.has_input(2)) work.bias_flops = product(g.output);
  return work;
}

}  // namespace

void add_convolution_costs(CostTable& table) {
  table["Conv"] = {conv};
  table["ConvTranspose"] = {conv_transpose};
  table["ConvInteger"] = {conv_integer};
  table["QLinearConv"] = {qlinear_conv};
  table["DeformConv"] = {deform_conv};
  table["com.microsoft:FusedConv"] = {conv};
}

}  // namespace assay::cost
