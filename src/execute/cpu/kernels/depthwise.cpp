#include "execute/cpu/kernels/depthwise.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

constexpr std::size_t kMostTapRows = 16;
constexpr std::size_t kMostSourceRows = 2 * kMostTapRows;

std::size_t size_of(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace

bool Depthwise::has_form_for(const WindowGrid& grid) {
  return grid.rank <= 2 && size_of(grid.axes[1].kernel) <= kMostTapRows;
}

Depthwise::Depthwise(const WindowGrid& grid, std::int64_t images, std::int64_t channels,
                     std::optional<HalfFormat> format, const Epilogue& epilogue, int threads,
                     const SimdKernels& kernels)
    : kernels_(kernels),
      grid_(grid),
      images_(size_of(images)),
      channels_(size_of(channels)),
      format_(format),
      epilogue_(epilogue),
      threads_(threads) {}

std::size_t Depthwise::weight_floats() const {
  return size_of(grid_.taps()) * channels_;
}

std::int64_t Depthwise::flops() const {
  const auto results = static_cast<std::int64_t>(images_ * channels_) * grid_.output_elements();
  return saturating_multiply(2 * grid_.taps(), results);
}

void Depthwise::pack_weights(const float* weights, float* packed) const {
  const auto taps = size_of(grid_.taps());
  kernels_.transpose(weights, taps, packed, channels_, channels_, taps);
}

// Two rows see some of the same rows of the image, unless taps lie apart.
std::size_t Depthwise::rows_together() const {
  const WindowAxis& down = grid_.axes[1];
  return down.dilation == 1 && down.stride < down.kernel ? 2 : 1;
}

void Depthwise::result_rows(const ConvolutionOperands& operands, std::size_t image, std::size_t y,
                            std::size_t count) const {
  const WindowAxis& down = grid_.axes[1];
  const WindowAxis& across = grid_.axes[2];
  const std::size_t pixel = channels_ * number_bytes();
  const auto* source = reinterpret_cast<const std::byte*>(operands.source) +
                       image * size_of(grid_.input_elements()) * pixel;
  std::array<const void*, kMostSourceRows> sources = {};
  const auto stride = count > 1 ? size_of(down.stride) : 0;
  for (std::size_t i = 0; i < (count - 1) * stride + size_of(down.kernel); ++i) {
    const std::int64_t at =
        down.position(static_cast<std::int64_t>(y), static_cast<std::int64_t>(i));
    const bool is_inside = at >= 0 && at < down.input;
    sources[i] = is_inside ? source + size_of(at * across.input) * pixel : nullptr;
  }
  const DepthwiseRows rows{.sources = sources.data(),
                           .weights = operands.weights,
                           .taps_down = size_of(down.kernel),
                           .taps_across = size_of(across.kernel),
                           .stride_down = stride,
                           .stride = size_of(across.stride),
                           .dilation = size_of(across.dilation),
                           .channels = channels_,
                           .pad = across.pad_begin,
                           .columns = size_of(across.input),
                           .results = size_of(across.output),
                           .result_rows = count};
  const std::size_t at = (image * size_of(down.output) + y) * size_of(across.output) * pixel;
  Epilogue epilogue = epilogue_;
  epilogue.bias = operands.bias;
  if (operands.addend != nullptr)
    epilogue.addend =
        reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(operands.addend) + at);
  std::byte* result = reinterpret_cast<std::byte*>(operands.result) + at;
  if (!format_) return kernels_.depthwise_rows(rows, epilogue, reinterpret_cast<float*>(result));
  kernels_.half_depthwise_rows(*format_, rows, epilogue, reinterpret_cast<std::uint16_t*>(result));
}

void Depthwise::run(const ConvolutionOperands& operands) const {
  const auto rows = size_of(grid_.axes[1].output);
  const std::size_t together = rows_together();
  const std::size_t parts = (rows + together - 1) / together;
  execute::for_each_in_parallel(threads_, images_ * parts, [&](std::size_t i) {
    const std::size_t y = i % parts * together;
    result_rows(operands, i / parts, y, std::min(together, rows - y));
  });
}

}  // namespace assay::cpu
