#include "execute/cuda/byte_convolution.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_product.h"
#include "execute/cuda/walk.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

namespace {

using kernels::WindowAxis;

int byte_at(const Tensor& tensor, std::int64_t i) {
  const auto byte = static_cast<std::uint8_t>(tensor.bytes()[static_cast<std::size_t>(i)]);
  return tensor.type() == DataType::Int8 ? static_cast<std::int8_t>(byte) : byte;
}

// Filters of one channel each, neighbouring channels side by side: [taps, channels].
Tensor channels_together(const Tensor& weight, std::int64_t channels, std::int64_t taps) {
  std::vector<std::byte> turned(static_cast<std::size_t>(channels * taps));
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      turned[static_cast<std::size_t>(tap * channels + channel)] =
          weight.bytes()[static_cast<std::size_t>(channel * taps + tap)];
  return Tensor(weight.type(), {taps, channels}, heap_storage(std::move(turned)));
}

std::int64_t widest_group(const Placement& image, std::int64_t channels, std::int64_t widest) {
  for (std::int64_t group = widest; group >= 4; group /= 2)
    if (channels % group == 0 && lies_in_groups(image, 1, group)) return group;
  return 1;
}

// Windows over two axes at most.
bool is_flat(const kernels::WindowGrid& grid) {
  const WindowAxis& depth = grid.axes[0];
  return grid.rank <= 2 && depth.kernel == 1 && depth.output == 1;
}

std::string locate_text(const ConvolutionView& view) {
  const WindowAxis& y = view.grid.axes[1];
  const WindowAxis& x = view.grid.axes[2];
  return fmt::format(
      "      const int pixel = all_row % {pixels};\n"
      "      line.base = all_row / {pixels} * {stride}ll;\n"
      "      line.y = pixel / {width} * {sy} - {py};\n"
      "      line.x = pixel % {width} * {sx} - {px};\n",
      fmt::arg("pixels", view.pixels()), fmt::arg("stride", view.image.strides[0]),
      fmt::arg("width", x.output), fmt::arg("sy", y.stride), fmt::arg("py", y.pad_begin),
      fmt::arg("sx", x.stride), fmt::arg("px", x.pad_begin));
}

std::string find_text(const ConvolutionView& view) {
  const WindowAxis& y = view.grid.axes[1];
  const WindowAxis& x = view.grid.axes[2];
  const Dims& strides = view.image.strides;
  return fmt::format(
      "    const int tap = k / {inputs}, y = line.y + tap / {kx} * {dy}, x = line.x + tap % {kx} * "
      "{dx};\n"
      "    if (y < 0 || y >= {height} || x < 0 || x >= {width}) return false;\n"
      "    offset = line.base + y * {y_stride}ll + x * {x_stride}ll + k % {inputs};\n",
      fmt::arg("inputs", view.inputs), fmt::arg("kx", x.kernel), fmt::arg("dy", y.dilation),
      fmt::arg("dx", x.dilation), fmt::arg("height", y.input), fmt::arg("width", x.input),
      fmt::arg("y_stride", view.grid.rank == 2 ? strides[2] : 0),
      fmt::arg("x_stride", strides.back()));
}

constexpr const char* kByteDepthwise = R"(
extern "C" __global__ void KERNEL({parameters}) {{
  constexpr int TOGETHER = {together};
  const long long i = blockIdx.x * {threads}ll + threadIdx.x;
  if (i >= {count}) return;
  const int first = (int)(i % ({channels} / TOGETHER)) * TOGETHER;
  const long long spot = i / ({channels} / TOGETHER);
  const int pixel = (int)(spot % {pixels}), batch = (int)(spot / {pixels}), zero = {zero};
{pixel}  int sums[TOGETHER] = {{}};
#pragma unroll
  for (int tap = 0; tap < {taps}; ++tap) {{
{tap}{position}    if (!({condition})) continue;
    const auto numbers = *(const Group<{stored}, TOGETHER>*)({image} + {image_at});
    const auto filters = *(const Group<{filter_stored}, TOGETHER>*)({filters} + tap * {channels} + first);
#pragma unroll
    for (int j = 0; j < TOGETHER; ++j) sums[j] += ((int)numbers.at[j] - zero) * (int)filters.at[j];
  }}
  Group<{result_stored}, TOGETHER> results;
#pragma unroll
  for (int j = 0; j < TOGETHER; ++j) {{
    const int column = first + j, sum = sums[j];
{computing}    results.at[j] = {result};
  }}
  const int column = first;
  *(Group<{result_stored}, TOGETHER>*)(out + {place}) = results;
}}
)";

}  // namespace

ByteConvolution::ByteConvolution(Lowering& lowering, const ConvolutionView& view,
                                 const Tensor* weight, Operands& operands)
    : view_(view) {
  if (weight == nullptr || view.is_transposed || !is_flat(view.grid)) return;
  const std::int64_t taps = view.grid.taps();
  const std::int64_t depth = view.inputs * taps;
  is_depthwise_ = view.inputs == 1 && view.outputs == 1 &&
                  widest_group(view.image, view.groups, 4) == 4 && has_exact_sums(depth);
  is_product_ = !is_depthwise_ && view.groups == 1 && has_exact_sums(depth);
  if (!is_supported()) return;
  weight_type_ = weight->type();
  image_ = operands.pointer(view.image);
  if (is_depthwise_) {
    numbers_ = operands.pointer(lowering.weight(channels_together(*weight, view.groups, taps)));
    return;
  }
  numbers_ = operands.pointer(view.weight);
  sums_ = operands.pointer(lowering.weight(column_sums(*weight, view.outputs, depth, depth, 1)));
}

std::vector<Candidate> ByteConvolution::candidates(Lowering& lowering,
                                                   const std::string& zero_point,
                                                   const std::string& parameters,
                                                   const TextAt& result, const Epilogue& epilogue,
                                                   const StepDraft& draft) const {
  if (is_depthwise_)
    return depthwise_candidates(lowering, zero_point, parameters, result, epilogue, draft);
  return product_candidates(lowering, zero_point, parameters, result, epilogue, draft);
}

std::vector<Candidate> ByteConvolution::product_candidates(
    Lowering& lowering, const std::string& zero_point, const std::string& parameters,
    const TextAt& result, const Epilogue& epilogue, const StepDraft& draft) const {
  const auto at_result = image_coordinates(view_.grid, "batch", "column", "out");
  const std::string pixel = fmt::format("all_row % {}", view_.pixels());
  const ByteTiles tiles{
      .rows = view_.batch * view_.pixels(),
      .columns = view_.outputs,
      .depth = view_.inputs * view_.grid.taps(),
      .group = widest_group(view_.image, view_.inputs, 16),
      .a_type = view_.image.type,
      .b_type = weight_type_,
      .parameters = parameters,
      .a = image_,
      .b = numbers_,
      .column_stride = view_.inputs * view_.grid.taps(),
      .locate = locate_text(view_),
      .find = find_text(view_),
      .fill = zero_point,
      .coordinates = fmt::format("    const int batch = all_row / {};\n", view_.pixels()) +
                     pixels_text(view_.grid, pixel),
      .computing = fmt::format("      const int sum = sum_of_numbers - {} * {}[column];\n",
                               zero_point, sums_) +
                   epilogue.computing(result(at_result), at_result),
      .result = epilogue.stored_result(),
      .place = offset_text(epilogue.result, at_result),
      .result_type = epilogue.result.type,
      .results_together = results_together(epilogue.result, 1)};
  return byte_tile_candidates(lowering, tiles, draft);
}

std::vector<Candidate> ByteConvolution::depthwise_candidates(
    Lowering& lowering, const std::string& zero_point, const std::string& parameters,
    const TextAt& result, const Epilogue& epilogue, const StepDraft& draft) const {
  std::vector<Candidate> all;
  const auto at_image = image_coordinates(view_.grid, "batch", "first", "in");
  const auto at_result = image_coordinates(view_.grid, "batch", "column", "out");
  const std::int64_t widest =
      std::min(widest_group(view_.image, view_.groups, 16), results_together(epilogue.result, 1));
  for (const std::int64_t together : {std::int64_t{4}, std::int64_t{8}, std::int64_t{16}}) {
    if (together > widest) break;
    const std::int64_t count = view_.batch * view_.pixels() * view_.groups / together;
    const std::string text = fmt::format(
        kByteDepthwise, fmt::arg("parameters", parameters), fmt::arg("together", together),
        fmt::arg("threads", kBlockThreads), fmt::arg("count", count),
        fmt::arg("channels", view_.groups), fmt::arg("pixels", view_.pixels()),
        fmt::arg("zero", zero_point), fmt::arg("pixel", pixels_text(view_.grid, "pixel")),
        fmt::arg("taps", view_.grid.taps()), fmt::arg("tap", taps_text(view_.grid, "tap")),
        fmt::arg("position", positions_text(view_.grid)),
        fmt::arg("condition", inside_text(view_.grid)),
        fmt::arg("stored", stored_type(view_.image.type)),
        fmt::arg("filter_stored", stored_type(weight_type_)), fmt::arg("image", image_),
        fmt::arg("image_at", offset_text(view_.image, at_image)), fmt::arg("filters", numbers_),
        fmt::arg("result_stored", stored_type(epilogue.result.type)),
        fmt::arg("computing", epilogue.computing(result(at_result), at_result)),
        fmt::arg("result", epilogue.stored_result()),
        fmt::arg("place", offset_text(epilogue.result, at_result)));
    all.push_back(own_candidate(lowering, fmt::format("own depthwise, {} channels", together),
                                {text, launch_for(count)}, false, draft));
  }
  return all;
}

bool has_no_zero_point(const Lowering& lowering, const Node& node, std::size_t input) {
  if (!node.has_input(input)) return true;
  const Tensor* tensor = lowering.constant(node.inputs[input]);
  if (tensor == nullptr) return false;
  return std::ranges::all_of(tensor->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

Tensor column_sums(const Tensor& weight, std::int64_t columns, std::int64_t depth,
                   std::int64_t column_stride, std::int64_t stride) {
  std::vector<std::int32_t> sums(static_cast<std::size_t>(columns), 0);
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t k = 0; k < depth; ++k)
      sums[static_cast<std::size_t>(column)] +=
          byte_at(weight, column * column_stride + k * stride);
  return Tensor::of(DataType::Int32, {columns}, std::span<const std::int32_t>(sums));
}

}  // namespace assay::cuda
