#include "execute/cuda/convolution_view.h"

#include <fmt/core.h>

#include <limits>

#include "base/checked.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_convolution.h"
#include "execute/cuda/tiled_product.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

using kernels::WindowGrid;

namespace {

std::string pixel_text(const ConvolutionView& view, const std::string& pixel) {
  if (!view.is_transposed) return pixels_text(view.grid, pixel);
  WindowGrid results = view.grid;
  for (auto& axis : results.axes) axis.output = axis.input;
  return pixels_text(results, pixel);
}

std::string position_text(const ConvolutionView& view) {
  return view.is_transposed ? transposed_positions_text(view.grid) : positions_text(view.grid);
}

std::string condition_text(const ConvolutionView& view) {
  return view.is_transposed ? transposed_inside_text(view.grid) : inside_text(view.grid);
}

// The coordinates of a weight for channel `in` of group `z` and its result `out`.
std::vector<std::string> weight_coordinates(const ConvolutionView& view, const std::string& group,
                                            const std::string& in, const std::string& out) {
  if (view.is_transposed)
    return image_coordinates(view.grid, fmt::format("{} * {} + {}", group, view.inputs, in), out,
                             "tap");
  return image_coordinates(view.grid, fmt::format("{} * {} + {}", group, view.outputs, out), in,
                           "tap");
}

KernelText tiled(const ConvolutionView& view, const ConvolutionTexts& texts) {
  const std::string batch = fmt::format("row / {}", view.pixels());
  const std::string pixel = pixel_text(view, fmt::format("row % {}", view.pixels()));
  const std::string tap = taps_text(view.grid, fmt::format("k / {}", view.inputs));
  const std::string channel = fmt::format("k % {}", view.inputs);
  const auto at_image =
      image_coordinates(view.grid, batch, fmt::format("z * {} + {}", view.inputs, channel), "in");
  const auto at_result =
      image_coordinates(view.grid, batch, fmt::format("z * {} + column", view.outputs), "out");
  const std::string load_a =
      pixel + tap + position_text(view) +
      fmt::format("    return {} ? {} : 0;\n", condition_text(view), texts.image(at_image));
  const std::string load_b =
      tap + fmt::format("    return {};\n",
                        texts.weight(weight_coordinates(view, "z", channel, "column")));
  return tiled_kernel({.batches = view.groups,
                       .rows = view.batch * view.pixels(),
                       .columns = view.outputs,
                       .depth = view.grid.taps() * view.inputs,
                       .sum_type = texts.sum_type,
                       .parameters = texts.parameters,
                       .load_a = load_a,
                       .load_b = load_b,
                       .store = pixel + texts.store(at_result)});
}

// One thread for each number of the result, channels next to each other.
KernelText direct(const ConvolutionView& view, const ConvolutionTexts& texts) {
  const std::int64_t channels = view.groups * view.outputs;
  const std::int64_t count = view.batch * view.pixels() * channels;
  const auto at_image =
      image_coordinates(view.grid, "batch", fmt::format("group * {} + channel", view.inputs), "in");
  const auto at_result = image_coordinates(view.grid, "batch", "output", "out");
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}) {{
  const long long i = blockIdx.x * {threads}ll + threadIdx.x;
  if (i >= {count}) return;
  const int output = (int)(i % {channels}), group = output / {outputs};
  const long long pixel = i / {channels} % {pixels}, batch = i / {all_pixels};
{pixel}  {type} sum = 0;
#pragma unroll 1
  for (int tap = 0; tap < {taps}; ++tap) {{
{tap}{position}    if (!({condition})) continue;
    for (int channel = 0; channel < {inputs}; ++channel) sum += {image} * {weight};
  }}
{store}}}
)",
      fmt::arg("parameters", texts.parameters), fmt::arg("threads", kBlockThreads),
      fmt::arg("count", count), fmt::arg("channels", channels), fmt::arg("outputs", view.outputs),
      fmt::arg("pixels", view.pixels()), fmt::arg("all_pixels", view.pixels() * channels),
      fmt::arg("pixel", pixel_text(view, "pixel")), fmt::arg("type", texts.sum_type),
      fmt::arg("taps", view.grid.taps()), fmt::arg("tap", taps_text(view.grid, "tap")),
      fmt::arg("position", position_text(view)), fmt::arg("condition", condition_text(view)),
      fmt::arg("inputs", view.inputs), fmt::arg("image", texts.image(at_image)),
      fmt::arg("weight", texts.weight(weight_coordinates(
                             view, "group", "channel", fmt::format("output % {}", view.outputs)))),
      fmt::arg("store", texts.store(at_result)));
  return {text, launch_for(count)};
}

}  // namespace

std::int64_t ConvolutionView::pixels() const {
  return is_transposed ? grid.input_elements() : grid.output_elements();
}

std::int64_t ConvolutionView::flops() const {
  return 2 * batch * grid.output_elements() * groups * inputs * outputs * grid.taps();
}

std::optional<ConvolutionView> convolution_view_of(Lowering& lowering, const Node& node,
                                                   std::size_t image, std::size_t weight) {
  ConvolutionView view;
  view.is_transposed = node.op == "ConvTranspose";
  const Dims image_dims = lowering.dims(node.inputs[image]);
  const Dims weight_dims = lowering.dims(node.inputs[weight]);
  view.result = lowering.dims(node.outputs[0]);
  const bool is_empty = checked_product(view.result).value_or(0) == 0 ||
                        checked_product(image_dims).value_or(0) == 0 ||
                        checked_product(weight_dims).value_or(0) == 0;
  if (image_dims.size() < 3 || image_dims.size() > 5 || is_empty) return {};
  const kernels::KernelCall call{node, {}, lowering.graph().opset()};
  const std::span<const std::int64_t> spatial = std::span(image_dims).subspan(2);
  const std::span<const std::int64_t> kernel = std::span(weight_dims).subspan(2);
  view.grid = view.is_transposed ? kernels::transposed_window_grid(call, spatial, kernel)
                                 : kernels::window_grid(call, spatial, kernel);
  view.batch = image_dims[0];
  view.groups = node.int_or("group", 1);
  view.inputs = image_dims[1] / view.groups;
  view.outputs = view.result[1] / view.groups;
  const auto padded = padded_channels(lowering, node);
  view.image = padded ? lowering.padded_channels_last(node.inputs[image], *padded)
                      : lowering.channels_last(node.inputs[image]);
  view.weight = lowering.weight_channels_last(node.inputs[weight]);
  return view;
}

const char* name_of(const ConvolutionKernel& kernel) {
  return kernel.is_tiled ? "own tiles" : "own direct";
}

ConvolutionKernel convolution_kernel(const ConvolutionView& view, const ConvolutionTexts& texts) {
  constexpr std::int64_t kFewChannels = 8;
  constexpr std::int64_t kMostGroups = std::numeric_limits<std::uint16_t>::max();
  if (view.outputs < kFewChannels || view.groups > kMostGroups)
    return {.kernel = direct(view, texts), .is_tiled = false};
  return {.kernel = tiled(view, texts), .is_tiled = true};
}

void add_convolution_step(Lowering& lowering, StepDraft draft, const ConvolutionKernel& kernel) {
  draft.algorithm = name_of(kernel);
  lowering.add_kernel_step(std::move(draft),
                           lowering.kernels().add(kernel.kernel.text, kernel.is_tiled),
                           kernel.kernel.shape);
}

}  // namespace assay::cuda
