#include "execute/cpu/kernels/winograd.h"

#include <algorithm>
#include <cmath>

#include "base/round.h"
#include "execute/cpu/kernels/winograd_filter.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowGrid;

namespace {

// Planes a power of two apart would compete for the same lines of the cache.
constexpr std::size_t kPlanePadding = 16;

// What filters of a plane are multiplied with before they become integers.
float balance(std::size_t tile, std::size_t plane) {
  if (tile != 4) return 1;
  constexpr std::size_t kSide = 6;
  const float down = plane / kSide == kSide - 1 ? 1 : kBalanceOfFour;
  return plane % kSide == kSide - 1 ? down : down * kBalanceOfFour;
}

}  // namespace

Winograd::Winograd(std::size_t tile, const WindowGrid& grid, std::int64_t images,
                   std::int64_t channels, std::int64_t outputs, const Epilogue& epilogue,
                   int threads, const SimdKernels& kernels, std::size_t block)
    : kernels_(kernels),
      shape_(winograd_shape(tile, grid, channels, outputs, block)),
      images_(static_cast<std::size_t>(images)),
      epilogue_(epilogue),
      threads_(threads),
      blocks_(tiles(), shape_.planes() * (shape_.channels + row_stride()) * sizeof(float),
              threads) {}

std::size_t Winograd::row_stride() const {
  return panels() * kernels_.panel_width;
}

std::size_t Winograd::input_plane() const {
  return rounded_up(blocks_.most_tiles() * shape_.channels, kPlanePadding) + kPlanePadding;
}

std::size_t Winograd::product_plane() const {
  return blocks_.most_tiles() * row_stride() + kPlanePadding;
}

std::size_t Winograd::workspace_of_block() const {
  return shape_.planes() * (input_plane() + product_plane());
}

std::size_t Winograd::weight_floats() const {
  return has_integers_ ? weight_count() / 2 + row_stride() : weight_count();
}

std::size_t Winograd::workspace_floats() const {
  return workspace_of_block() * blocks_.workspaces();
}

std::int64_t Winograd::flops() const {
  const auto channels = static_cast<std::int64_t>(shape_.channels);
  const auto outputs = static_cast<std::int64_t>(shape_.outputs);
  const std::int64_t of_tile = 2 * static_cast<std::int64_t>(shape_.planes()) * channels * outputs +
                               input_transform_flops(shape_.tile) * channels +
                               output_transform_flops(shape_.tile) * outputs;
  return static_cast<std::int64_t>(tiles()) * of_tile;
}

// Packed weights lie plane by plane, then panel by panel: [channels, panel_width] each.
std::size_t Winograd::packed_at(std::size_t output, std::size_t channel) const {
  const std::size_t width = kernels_.panel_width;
  return (output / width * shape_.channels + channel) * width + output % width;
}

void Winograd::pack_filters(const float* taps, std::size_t tap_stride, std::size_t output,
                            std::size_t channel, std::size_t n, float* packed) const {
  const std::size_t at_once = std::min(n, kernels_.panel_width);
  for (std::size_t i = 0; i < n; i += at_once) {
    kernels_.winograd_filter(shape_.tile, taps + i, tap_stride,
                             packed + packed_at(output + i, channel),
                             shape_.channels * row_stride(), std::min(at_once, n - i));
  }
}

// The largest balanced number of an output becomes the largest integer.
float Winograd::scale_of(std::size_t output, const float* floats) const {
  float largest = 0;
  for (std::size_t plane = 0; plane < shape_.planes(); ++plane) {
    const float* weights = floats + plane * shape_.channels * row_stride();
    for (std::size_t channel = 0; channel < shape_.channels; ++channel)
      largest = std::max(
          largest, std::abs(weights[packed_at(output, channel)]) * balance(shape_.tile, plane));
  }
  return largest > 0 && std::isfinite(largest) ? largest / 32767 : 1;
}

// Integers, then what sums of each output are multiplied with.
void Winograd::pack_weights(const float* weights, float* packed) const {
  if (!has_integers_) return pack_floats(weights, packed);
  std::vector<float> floats(weight_count());
  pack_floats(weights, floats.data());
  auto* integers = reinterpret_cast<std::int16_t*>(packed);
  float* scales = packed + weight_count() / 2;
  std::fill_n(integers, weight_count(), std::int16_t{0});  // padding too
  std::fill_n(scales, row_stride(), 0.0f);
  execute::for_each_in_parallel(threads_, shape_.outputs, [&](std::size_t output) {
    const float scale = scale_of(output, floats.data());
    for (std::size_t plane = 0; plane < shape_.planes(); ++plane) {
      const float factor = balance(shape_.tile, plane) / scale;
      for (std::size_t channel = 0; channel < shape_.channels; ++channel) {
        const std::size_t at = plane * shape_.channels * row_stride() + packed_at(output, channel);
        integers[at] = static_cast<std::int16_t>(std::lrint(floats[at] * factor));
      }
    }
    scales[output] = scale / balance(shape_.tile, 0);
  });
}

void Winograd::pack_floats(const float* weights, float* packed) const {
  const std::size_t width = kernels_.panel_width;
  const std::size_t plane = shape_.channels * row_stride();
  execute::in_parallel(
      threads_, static_cast<std::int64_t>(panels()), [&](std::int64_t from, std::int64_t to) {
        const std::size_t last = std::min(static_cast<std::size_t>(to) * width, shape_.outputs);
        for (std::size_t output = static_cast<std::size_t>(from) * width; output < last; ++output) {
          for (std::size_t channel = 0; channel < shape_.channels; ++channel) {
            const float* filter = weights + (output * shape_.channels + channel) * 9;
            double values[36];
            if (shape_.tile == 2) {
              transform_filter(kFilterOfTwo, filter, values);
            } else {
              transform_filter(kFilterOfFour, filter, values);
            }
            float* to_fill = packed + packed_at(output, channel);
            for (std::size_t i = 0; i < shape_.planes(); ++i) {
              to_fill[i * plane] = static_cast<float>(values[i]);
            }
          }
        }
      });
}

// Rows of transformed inputs with panel `part` of the weights.
void Winograd::multiply(const float* inputs, std::size_t rows, const float* weights,
                        std::size_t part, float* products) const {
  const std::size_t panel = shape_.channels * kernels_.panel_width;
  if (has_integers_) {
    const auto* integers = reinterpret_cast<const std::int16_t*>(weights) + part * panel;
    return kernels_.product_of_integers(
        inputs, rows, shape_.channels, integers, shape_.channels, products, row_stride(),
        {reinterpret_cast<const float*>(integers + panel), panel / 2});
  }
  const float* floats = weights + part * panel;
  kernels_.panel_product(inputs, rows, shape_.channels, floats, shape_.channels, products,
                         row_stride(), {floats + panel, panel});
}

void Winograd::run_block(const ConvolutionOperands& operands, const TileBlock& block) const {
  float* workspace = operands.workspace + block.workspace * workspace_of_block();
  float* inputs = workspace;
  float* products = workspace + shape_.planes() * input_plane();
  in_parts(block.threads, block.count, [&](std::size_t from, std::size_t to) {
    kernels_.winograd_input(shape_, operands.source, block.first + from, block.first + to,
                            inputs + from * shape_.channels, input_plane());
  });
  in_parts(block.threads, shape_.planes() * panels(), [&](std::size_t from, std::size_t to) {
    for (std::size_t part = from; part < to; ++part) {
      const std::size_t plane = part / panels();
      multiply(inputs + plane * input_plane(), block.count, operands.weights, part,
               products + plane * product_plane() + part % panels() * kernels_.panel_width);
    }
  });
  const Epilogue epilogue = bound_epilogue(operands, epilogue_);
  WinogradShape shape = shape_;
  if (has_integers_) shape.scales = operands.weights + weight_count() / 2;
  in_parts(block.threads, block.count, [&](std::size_t from, std::size_t to) {
    kernels_.winograd_output(shape, products + from * row_stride(), product_plane(), row_stride(),
                             block.first + from, block.first + to, epilogue, operands.result);
  });
}

void Winograd::run(const ConvolutionOperands& operands) const {
  blocks_.for_each([&](const TileBlock& block) { run_block(operands, block); });
}

}  // namespace assay::cpu
