#include "execute/cpu/kernels/quantized_depthwise.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;
using kernels::WindowGrid;

bool QuantizedDepthwise::has_form_for(const WindowGrid& grid) {
  const WindowAxis& height = grid.axes[1];
  const WindowAxis& width = grid.axes[2];
  return vnni() != nullptr && grid.rank == 2 && height.kernel == width.kernel &&
         height.dilation == 1 && width.dilation == 1 &&
         has_depthwise_row(width.kernel, width.stride);
}

QuantizedDepthwise::QuantizedDepthwise(const WindowGrid& grid, std::int64_t images,
                                       std::int64_t channels, const DepthwiseNumbers& numbers,
                                       int threads)
    : grid_(grid),
      images_(static_cast<std::size_t>(images)),
      channels_(static_cast<std::size_t>(channels)),
      source_(numbers.source),
      result_(numbers.result),
      clamp_(numbers.clamp),
      threads_(threads),
      padding_(channels_, static_cast<std::uint8_t>(numbers.source.zero_point)) {
  pack_scales(numbers);
}

void QuantizedDepthwise::pack_scales(const DepthwiseNumbers& numbers) {
  const std::size_t padded = blocks() * kVnniChannels;
  bias_.assign(padded, 0);
  scales_.assign(padded, 0);
  padding_.resize(padded, padding_.front());
  std::int32_t zero = source_.zero_point;
  if (vnni()->multiplies_unsigned && source_.is_signed) zero += 128;
  if (!vnni()->multiplies_unsigned && !source_.is_signed) zero -= 128;
  const std::size_t taps = filter() * filter();
  for (std::size_t i = 0; i < padded; ++i) {
    const std::size_t within = i % kVnniChannels;
    const std::size_t channel = i - within + depthwise_channel(within);
    if (channel >= channels_) continue;
    const auto first = numbers.weights.begin() + static_cast<std::ptrdiff_t>(channel * taps);
    const auto sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(taps), 0);
    bias_[i] = numbers.bias[channel] - zero * sum;
    scales_[i] = numbers.scales[channel];
  }
}

void QuantizedDepthwise::pack_weights(const std::int8_t* weights, std::int8_t* packed) const {
  std::fill(packed, packed + weight_bytes(), std::int8_t{0});
  for (std::size_t i = 0; i < blocks() * kVnniChannels; ++i) {
    const std::size_t within = i % kVnniChannels;
    const std::size_t channel = i - within + depthwise_channel(within);
    if (channel >= channels_) continue;
    std::int8_t* block = packed + i / kVnniChannels * block_bytes();
    for (std::size_t y = 0; y < filter(); ++y) {
      for (std::size_t x = 0; x < filter(); ++x) {
        block[((y / 4 * filter() + x) * kVnniChannels + within) * 4 + y % 4] =
            weights[(channel * filter() + y) * filter() + x];
      }
    }
  }
}

void QuantizedDepthwise::result_row(const std::uint8_t* image, std::size_t y,
                                    const std::int8_t* packed, std::uint8_t* result) const {
  constexpr std::size_t kLargestFilter = 7;
  const WindowAxis& height = grid_.axes[1];
  const WindowAxis& width = grid_.axes[2];
  std::array<const std::uint8_t*, kLargestFilter> rows = {};
  std::array<std::size_t, kLargestFilter> steps = {};
  DepthwiseRow row{
      .rows = rows.data(),
      .row_steps = steps.data(),
      .finish = {.zero_point = result_.zero_point, .clamp = clamp_, .is_signed = result_.is_signed},
      .first_column = static_cast<std::ptrdiff_t>(-width.pad_begin),
      .columns = static_cast<std::ptrdiff_t>(width.input),
      .results = static_cast<std::size_t>(width.output),
      .result_step = channels_,
      .source_is_signed = source_.is_signed};
  for (std::size_t block = 0; block < blocks(); ++block) {
    const std::size_t first = block * kVnniChannels;
    row.padding = padding_.data() + first;
    for (std::size_t tap = 0; tap < filter(); ++tap) {
      const std::int64_t at =
          height.position(static_cast<std::int64_t>(y), static_cast<std::int64_t>(tap));
      const bool is_outside = at < 0 || at >= height.input;
      rows[tap] = is_outside
                      ? row.padding
                      : image + static_cast<std::size_t>(at * width.input) * channels_ + first;
      steps[tap] = is_outside ? 0 : channels_;
    }
    row.weights = packed + block * block_bytes();
    row.finish.bias = bias_.data() + first;
    row.finish.scales = scales_.data() + first;
    row.channels = std::min(kVnniChannels, channels_ - first);
    vnni()->depthwise_row(filter(), static_cast<std::size_t>(width.stride), row, result + first);
  }
}

void QuantizedDepthwise::run(const std::uint8_t* source, const std::int8_t* packed,
                             std::uint8_t* result) const {
  const auto rows = static_cast<std::size_t>(grid_.axes[1].output);
  const auto source_bytes = static_cast<std::size_t>(grid_.input_elements()) * channels_;
  const auto row_bytes = static_cast<std::size_t>(grid_.axes[2].output) * channels_;
  execute::for_each_in_parallel(threads_, images_ * rows, [&](std::size_t i) {
    result_row(source + i / rows * source_bytes, i % rows, packed, result + i * row_bytes);
  });
}

}  // namespace assay::cpu
