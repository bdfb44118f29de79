// Convolutions: by cuDNN, by cuBLASLt where there is one tap, or by kernels of our own: in tiles,
// as a product of patches and weights, or directly where a group has few channels.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/checked.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_convolution.h"
#include "execute/cuda/library_product.h"
#include "execute/cuda/tiled_product.h"
#include "execute/cuda/walk.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

using kernels::WindowGrid;

namespace {

struct ConvolutionView {
  Placement image;
  Placement weight;
  std::optional<Placement> bias;
  Dims result;
  WindowGrid grid;
  bool is_transposed = false;
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   // channels of a group
  std::int64_t outputs = 0;  // channels of a group

  // Of the result.
  std::int64_t pixels() const {
    return is_transposed ? grid.input_elements() : grid.output_elements();
  }
};

std::optional<ConvolutionView> convolution_view_of(Lowering& lowering, const Node& node) {
  ConvolutionView view;
  view.is_transposed = node.op == "ConvTranspose";
  const Dims image = lowering.dims(node.inputs[0]);
  const Dims weight = lowering.dims(node.inputs[1]);
  view.result = lowering.dims(node.outputs[0]);
  const bool is_empty = checked_product(view.result).value_or(0) == 0 ||
                        checked_product(image).value_or(0) == 0 ||
                        checked_product(weight).value_or(0) == 0;
  if (image.size() < 3 || image.size() > 5 || is_empty) return {};
  const kernels::KernelCall call{node, {}, lowering.graph().opset()};
  const std::span<const std::int64_t> spatial = std::span(image).subspan(2);
  const std::span<const std::int64_t> kernel = std::span(weight).subspan(2);
  view.grid = view.is_transposed ? kernels::transposed_window_grid(call, spatial, kernel)
                                 : kernels::window_grid(call, spatial, kernel);
  view.batch = image[0];
  view.groups = node.int_or("group", 1);
  view.inputs = image[1] / view.groups;
  view.outputs = view.result[1] / view.groups;
  view.image = lowering.channels_last(node.inputs[0]);
  view.weight = lowering.weight_channels_last(node.inputs[1]);
  if (node.has_input(2)) view.bias = along_axis(lowering.native(node.inputs[2]), view.result, 1);
  return view;
}

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

std::string element(const Placement& placement, const char* name,
                    const std::vector<std::string>& at) {
  return loaded(placement.type, fmt::format("{}[{}]", name, offset_text(placement, at)));
}

StepDraft draft_of(const ConvolutionView& view, const Epilogue& epilogue, NodeId id) {
  StepDraft draft{.nodes = epilogue.nodes(id), .reads = {view.image, view.weight}};
  if (view.bias) draft.reads.push_back(*view.bias);
  draft.reads.insert(draft.reads.end(), epilogue.text.operands.begin(),
                     epilogue.text.operands.end());
  draft.writes = {epilogue.result};
  const std::int64_t windows = view.batch * view.grid.output_elements();
  const std::int64_t channels = view.groups * view.inputs * view.outputs;
  draft.executed_flops = 2 * windows * channels * view.grid.taps() + epilogue.text.flops;
  return draft;
}

std::string parameters_of(const ConvolutionView& view, const Epilogue& epilogue) {
  std::string list = fmt::format("const {}* __restrict__ image, const {}* __restrict__ weight, ",
                                 stored_type(view.image.type), stored_type(view.weight.type));
  if (view.bias) list += fmt::format("const {}* __restrict__ bias, ", stored_type(view.bias->type));
  return list + epilogue.parameters();
}

std::string with_bias(const ConvolutionView& view, const std::vector<std::string>& at) {
  return view.bias ? "sum + " + element(*view.bias, "bias", at) : "sum";
}

KernelText tiled(const ConvolutionView& view, const Epilogue& epilogue) {
  const std::string batch = fmt::format("row / {}", view.pixels());
  const std::string pixel = pixel_text(view, fmt::format("row % {}", view.pixels()));
  const std::string tap = taps_text(view.grid, fmt::format("k / {}", view.inputs));
  const std::string channel = fmt::format("k % {}", view.inputs);
  const auto at_image =
      image_coordinates(view.grid, batch, fmt::format("z * {} + {}", view.inputs, channel), "in");
  const auto at_result =
      image_coordinates(view.grid, batch, fmt::format("z * {} + column", view.outputs), "out");
  const std::string load_a = pixel + tap + position_text(view) +
                             fmt::format("    return {} ? {} : 0;\n", condition_text(view),
                                         element(view.image, "image", at_image));
  const std::string load_b =
      tap +
      fmt::format("    return {};\n",
                  element(view.weight, "weight", weight_coordinates(view, "z", channel, "column")));
  return tiled_kernel(
      {.batches = view.groups,
       .rows = view.batch * view.pixels(),
       .columns = view.outputs,
       .depth = view.grid.taps() * view.inputs,
       .sum_type = computed_type(view.image.type),
       .parameters = parameters_of(view, epilogue),
       .load_a = load_a,
       .load_b = load_b,
       .store = pixel + epilogue.statements(with_bias(view, at_result), at_result)});
}

// One thread for each number of the result, channels next to each other.
KernelText direct(const ConvolutionView& view, const Epilogue& epilogue) {
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
      fmt::arg("parameters", parameters_of(view, epilogue)), fmt::arg("threads", kBlockThreads),
      fmt::arg("count", count), fmt::arg("channels", channels), fmt::arg("outputs", view.outputs),
      fmt::arg("pixels", view.pixels()), fmt::arg("all_pixels", view.pixels() * channels),
      fmt::arg("pixel", pixel_text(view, "pixel")),
      fmt::arg("type", computed_type(view.image.type)), fmt::arg("taps", view.grid.taps()),
      fmt::arg("tap", taps_text(view.grid, "tap")), fmt::arg("position", position_text(view)),
      fmt::arg("condition", condition_text(view)), fmt::arg("inputs", view.inputs),
      fmt::arg("image", element(view.image, "image", at_image)),
      fmt::arg("weight", element(view.weight, "weight",
                                 weight_coordinates(view, "group", "channel",
                                                    fmt::format("output % {}", view.outputs)))),
      fmt::arg("store", epilogue.statements(with_bias(view, at_result), at_result)));
  return {text, launch_for(count)};
}

Candidate own(Lowering& lowering, const ConvolutionView& view, const Epilogue& epilogue,
              const StepDraft& draft) {
  constexpr std::int64_t kMostGroups = std::numeric_limits<std::uint16_t>::max();
  constexpr std::int64_t kFewChannels = 8;
  if (view.outputs < kFewChannels || view.groups > kMostGroups)
    return own_candidate(lowering, "own direct", direct(view, epilogue), false, draft);
  return own_candidate(lowering, "own tiles", tiled(view, epilogue), true, draft);
}

// A convolution of one tap is a product of all pixels and the weights.
std::optional<LibraryProduct> product_of(const ConvolutionView& view,
                                         const LibraryConvolution& convolution) {
  if (view.is_transposed || view.groups != 1 || view.grid.taps() != 1) return {};
  for (const kernels::WindowAxis& axis : view.grid.axes)
    if (axis.stride != 1 || axis.pad_begin != 0 || axis.pad_end != 0) return {};
  LibraryProduct product{.main = convolution.main,
                         .a = {.at = view.image},
                         .b = {.at = view.weight},
                         .result_like = convolution.result_like,
                         .bias = view.bias,
                         .column_axis = 1};
  const std::int64_t rows = view.batch * view.pixels();
  product.a.matrix = {.rows = rows, .columns = view.inputs, .leading = view.inputs};
  product.b.matrix = {
      .rows = view.inputs, .columns = view.outputs, .leading = view.inputs, .by_columns = true};
  product.result = {.rows = rows, .columns = view.outputs, .leading = view.outputs};
  return product;
}

std::vector<Candidate> candidates_of(Lowering& lowering, const ConvolutionView& view,
                                     const LibraryConvolution& convolution,
                                     const Epilogue& epilogue, const StepDraft& draft) {
  std::vector<Candidate> all = {own(lowering, view, epilogue, draft)};
  const auto append = [&](std::vector<Candidate> more) {
    std::ranges::move(more, std::back_inserter(all));
  };
  append(cudnn_candidates(lowering, convolution, epilogue));
  if (const auto product = product_of(view, convolution); product && can_multiply(*product))
    append(cublaslt_candidates(lowering, *product, epilogue));
  return all;
}

bool lower_convolution(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_floating(lowering.type(node.inputs[0]))) return false;
  const auto view = convolution_view_of(lowering, node);
  if (!view) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, channels_last_placement);
  const StepDraft draft = draft_of(*view, epilogue, id);
  LibraryConvolution convolution{
      .main = id,
      .grid = view->grid,
      .is_transposed = view->is_transposed,
      .image = view->image,
      .weight = view->weight,
      .bias = view->bias,
      .result_like = channels_last_placement(lowering.type(node.outputs[0]), view->result)};
  const Tensor* weight = lowering.constant(node.inputs[1]);
  const auto channels = padded_channels(lowering, view->image, view->groups);
  if (weight != nullptr && channels && !view->is_transposed && lowering.libraries().cudnn())
    convolution.padded_weight = lowering.padded_weight(*weight, *channels);
  lowering.add_contest(draft, question_of(convolution) + following(lowering, epilogue),
                       candidates_of(lowering, *view, convolution, epilogue, draft));
  return true;
}

}  // namespace

void add_convolution_lowering(LowerTable& table) {
  table["Conv"] = lower_convolution;
  table["ConvTranspose"] = lower_convolution;
}

}  // namespace assay::cuda
