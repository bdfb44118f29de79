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
  const std::size_t numbers = shape_.planes() * shape_.channels * row_stride();
  return weights_ ? numbers / 2 : numbers;  // panels have an even width
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
                             shape_.channels * row_stride(), at_once);
  }
}

void Winograd::store_weights_in(HalfFormat format, float largest) {
  int exponent = 0;
  if (std::isfinite(largest)) std::frexp(largest, &exponent);
  weights_ = format;
  shape_.scale = std::ldexp(1.0f, exponent);
}

void Winograd::pack_weights(const float* weights, float* packed) const {
  if (!weights_) return pack_floats(weights, packed);
  std::vector<float> floats(2 * weight_floats());
  pack_floats(weights, floats.data());
  kernels_.binary_number(BinaryOp::Mul, floats.data(), 1 / shape_.scale, floats.data(),
                         floats.size());
  kernels_.narrow(*weights_, floats.data(), reinterpret_cast<std::uint16_t*>(packed),
                  floats.size());
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
  if (weights_) {
    const auto* halves = reinterpret_cast<const std::uint16_t*>(weights) + part * panel;
    return kernels_.product_of_halves(
        *weights_, inputs, rows, shape_.channels, halves, shape_.channels, products, row_stride(),
        /*continues=*/false, {reinterpret_cast<const float*>(halves + panel), panel / 2});
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
  in_parts(block.threads, block.count, [&](std::size_t from, std::size_t to) {
    kernels_.winograd_output(shape_, products + from * row_stride(), product_plane(), row_stride(),
                             block.first + from, block.first + to, epilogue, operands.result);
  });
}

void Winograd::run(const ConvolutionOperands& operands) const {
  blocks_.for_each([&](const TileBlock& block) { run_block(operands, block); });
}

}  // namespace assay::cpu
