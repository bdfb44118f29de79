#include "execute/cuda/folded_convolution.h"

#include <fmt/core.h>

#include <cstring>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

using kernels::WindowAxis;

namespace {

constexpr std::int64_t kBlock = 2;  // pixels along each axis

std::optional<WindowAxis> folded_axis(const WindowAxis& axis) {
  const bool fits = axis.stride == kBlock && axis.dilation == 1 && axis.input % kBlock == 0 &&
                    axis.pad_begin >= 0;
  if (!fits) return {};
  const std::int64_t blocks_before = (axis.pad_begin + 1) / kBlock;
  const std::int64_t last = axis.kernel - 1 - axis.pad_begin;  // of the first window's pixels
  if (last < 0) return {};
  WindowAxis folded{.input = axis.input / kBlock,
                    .output = axis.output,
                    .kernel = blocks_before + last / kBlock + 1,
                    .stride = 1,
                    .dilation = 1,
                    .pad_begin = blocks_before};
  folded.pad_end = folded.output - 1 + folded.kernel - folded.input - folded.pad_begin;
  return folded.pad_end < 0 ? std::nullopt : std::optional(folded);
}

// The tap of a block's pixel, perhaps outside of the filter.
std::int64_t tap_of(const WindowAxis& axis, const WindowAxis& folded, std::int64_t block,
                    std::int64_t pixel) {
  return kBlock * (block - folded.pad_begin) + pixel + axis.pad_begin;
}

// Channel c of the pixel at (y, x) of a block is channel (2 y + x) C + c of the block.
Tensor folded_filters(const Tensor& filters, const WindowAxis& height, const WindowAxis& width,
                      const WindowAxis& folded_height, const WindowAxis& folded_width) {
  const std::int64_t channels = filters.dims()[1];
  const Dims dims = {filters.dims()[0], kBlock * kBlock * channels, folded_height.kernel,
                     folded_width.kernel};
  const auto element = static_cast<std::size_t>(bits(filters.type()) / 8);
  const std::int64_t taps = height.kernel * width.kernel;
  std::vector<std::byte> bytes(static_cast<std::size_t>(dims[0] * dims[1] * dims[2] * dims[3]) *
                               element);
  std::size_t to = 0;
  for (std::int64_t filter = 0; filter < dims[0]; ++filter) {
    for (std::int64_t channel = 0; channel < dims[1]; ++channel) {
      const std::int64_t y = channel / channels / kBlock;
      const std::int64_t x = channel / channels % kBlock;
      const std::int64_t plane = filter * channels + channel % channels;
      for (std::int64_t tap = 0; tap < dims[2] * dims[3]; ++tap, to += element) {
        const std::int64_t row = tap_of(height, folded_height, tap / dims[3], y);
        const std::int64_t column = tap_of(width, folded_width, tap % dims[3], x);
        if (row < 0 || row >= height.kernel || column < 0 || column >= width.kernel) continue;
        const auto from = static_cast<std::size_t>(plane * taps + row * width.kernel + column);
        std::memcpy(bytes.data() + to, filters.bytes().data() + from * element, element);
      }
    }
  }
  return Tensor(filters.type(), dims, heap_storage(std::move(bytes)));
}

}  // namespace

std::optional<FoldedConvolution> folded_convolution(Lowering& lowering, const Node& node,
                                                    const kernels::WindowGrid& grid) {
  const auto padded = padded_channels(lowering, node);
  const Tensor* filters = lowering.constant(node.inputs[1]);
  if (!padded || filters == nullptr || grid.rank != 2) return {};
  const auto height = folded_axis(grid.axes[1]);
  const auto width = folded_axis(grid.axes[2]);
  if (!height || !width) return {};
  const Tensor folded = folded_filters(*filters, grid.axes[1], grid.axes[2], *height, *width);
  const std::int64_t channels = (folded.dims()[1] + *padded - 1) / *padded * *padded;
  FoldedConvolution convolution{.grid = grid, .weight = lowering.padded_weight(folded, channels)};
  convolution.grid.axes[1] = *height;
  convolution.grid.axes[2] = *width;
  return convolution;
}

KernelText folding_kernel(const Placement& image, const Placement& folded) {
  constexpr std::int64_t kStoreBits = 128;
  const std::int64_t count = folded.dims[0] * folded.dims[2] * folded.dims[3];
  const std::int64_t channels = image.dims[1];
  const std::vector<std::string> at = {"batch", "c", "2 * row + y", "2 * column + x"};
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL(const {type}* __restrict__ in, {type}* __restrict__ out) {{
  const long long i = blockIdx.x * {threads}ll + threadIdx.x;
  if (i >= {count}) return;
  const int column = (int)(i % {width}), row = (int)(i / {width} % {height}), batch = (int)(i / {pixels});
  Group<{type}, {group}> results[{groups}];
#pragma unroll
  for (int k = 0; k < {all}; ++k) {{
    const int c = k % {channels}, y = k / {double_channels}, x = k / {channels} % 2;
    results[k / {group}].at[k % {group}] = {zero};
    if (y < 2) results[k / {group}].at[k % {group}] = in[{at}];
  }}
#pragma unroll
  for (int k = 0; k < {groups}; ++k)
    *(Group<{type}, {group}>*)(out + i * {all} + k * {group}) = results[k];
}}
)",
      fmt::arg("type", stored_type(image.type)), fmt::arg("threads", kBlockThreads),
      fmt::arg("count", count), fmt::arg("width", folded.dims[3]),
      fmt::arg("height", folded.dims[2]), fmt::arg("pixels", folded.dims[2] * folded.dims[3]),
      fmt::arg("group", kStoreBits / bits(image.type)),
      fmt::arg("groups", folded.dims[1] * bits(image.type) / kStoreBits),
      fmt::arg("all", folded.dims[1]), fmt::arg("channels", channels),
      fmt::arg("double_channels", 2 * channels), fmt::arg("zero", stored(image.type, "0")),
      fmt::arg("at", offset_text(image, at)));
  return {text, launch_for(count)};
}

}  // namespace assay::cuda
