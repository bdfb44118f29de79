// Interpolation and spectra.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/checked.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

// A multiply and an add for each tap: 2 taps an axis when linear, 4 when cubic, none when nearest.
std::int64_t interpolation_flops(std::string_view mode, std::int64_t axes) {
  const std::int64_t taps_per_axis = mode.ends_with("linear") ? 2 : mode.ends_with("cubic") ? 4 : 0;
  if (taps_per_axis == 0) return 0;
  std::int64_t taps = 1;
  for (std::int64_t i = 0; i < axes; ++i) taps = saturating_multiply(taps, taps_per_axis);
  return saturating_multiply(2, taps);
}

// For every element that was made.
std::int64_t resize_flops(const OpView& op) {
  const auto input = op.input_dims(0);
  const auto output = op.output_dims(0);
  std::int64_t resized_axes = 0;
  for (std::size_t i = 0; i < input.size() && i < output.size(); ++i) {
    if (input[i] != output[i]) ++resized_axes;
  }
  return interpolation_flops(op.node().string_or("mode", "nearest"), resized_axes);
}

Work resize(const OpView& op) {
  return flops_only(saturating_multiply(resize_flops(op), op.output_elements()));
}

// As many; with nearest-neighbour interpolation, each element of the gradient is added once.
Work resize_gradient(const OpView& op) {
  const std::int64_t per = std::max<std::int64_t>(1, resize_flops(op));
  return flops_only(saturating_multiply(per, op.input_elements(0)));
}

Work grid_sample(const OpView& op) {
  const auto output = op.output_dims(0);
  const auto axes = static_cast<std::int64_t>(output.size()) - 2;
  const std::int64_t per = interpolation_flops(op.node().string_or("mode", "linear"), axes);
  return flops_only(saturating_multiply(per, product(output)));
}

Work roi_align(const OpView& op) {
  const std::int64_t ratio = op.node().int_or("sampling_ratio", 0);
  const std::int64_t samples = ratio > 0 ? saturating_multiply(ratio, ratio) : 4;
  return flops_only(saturating_multiply(saturating_multiply(8, samples), op.output_elements()));
}

Work affine_grid(const OpView& op) {
  return macs_only(saturating_multiply(3, op.output_elements()));
}

std::int64_t log2_rounded_up(std::int64_t n) {
  return n <= 1 ? 0 : static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

// 5·N·log2(N) for each transform of N points, the customary count of a fast Fourier transform.
std::int64_t fourier_flops(std::int64_t transforms, std::int64_t length) {
  const std::int64_t one =
      saturating_multiply(5, saturating_multiply(length, log2_rounded_up(length)));
  return saturating_multiply(transforms, one);
}

Work dft(const OpView& op) {
  const auto output = op.output_dims(0);
  const auto input = op.input_dims(0);
  const auto rank = static_cast<std::int64_t>(input.size());
  const bool takes_axis_as_input = op.opset() >= 20;
  std::int64_t axis = takes_axis_as_input ? -2 : op.node().int_or("axis", 1);
  const Tensor* given_axis = takes_axis_as_input ? op.known_input(2) : nullptr;
  if (given_axis != nullptr && given_axis->elements() == 1) axis = given_axis->to_int64()[0];
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || output.size() != input.size()) return flops_only(0);
  std::int64_t length = input[static_cast<std::size_t>(axis)];
  const Tensor* given_length = op.known_input(1);
  if (given_length != nullptr && given_length->elements() == 1) {
    length = given_length->to_int64()[0];
  }
  if (length <= 0) return flops_only(0);
  const std::int64_t components = std::max<std::int64_t>(1, input.back());
  const std::int64_t per_line = saturating_multiply(
      std::max<std::int64_t>(1, input[static_cast<std::size_t>(axis)]), components);
  return flops_only(fourier_flops(product(input) / per_line, length));
}

Work stft(const OpView& op) {
  const auto output = op.output_dims(0);  // [batch, frames, bins, 2]
  if (output.size() != 4) return flops_only(0);
  const std::int64_t frames = saturating_multiply(output[0], output[1]);
  const bool onesided = op.node().int_or("onesided", 1) != 0;
  const std::int64_t length = onesided ? saturating_multiply(2, output[2] - 1) : output[2];
  const std::int64_t windowing = op.has_input(2) ? saturating_multiply(frames, length) : 0;
  return flops_only(
      saturating_add(fourier_flops(frames, std::max<std::int64_t>(length, 0)), windowing));
}

Work one_per_output(const OpView& op) {
  return flops_only(op.output_elements());
}

}  // namespace

void add_signal_costs(CostTable& table) {
  table["Resize"] = {resize};
  table["Upsample"] = {resize};
  table["assay:ResizeGradient"] = {resize_gradient};
  table["GridSample"] = {grid_sample};
  table["RoiAlign"] = {roi_align};
  table["AffineGrid"] = {affine_grid};
  table["DFT"] = {dft};
  table["STFT"] = {stft};
  for (const auto op : {"HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"}) {
    table[op] = {one_per_output, Traffic::Generates};
  }
}

}  // namespace assay::cost
