#include "execute/cpu/kernels/winograd.h"

#include <algorithm>
#include <cmath>

#include "base/round.h"
#include "execute/cpu/kernels/winograd_filter.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

// What a block of tiles may take, so that it stays in a core's own cache between the stages.
constexpr std::size_t kBlockBytes = std::size_t{512} << 10;
// Weights pass through the cache once for each block: fewer tiles would not be worth that.
constexpr std::size_t kFewestTiles = 56;
// A thread that works alone on this many tiles uses the kernels well.
constexpr std::size_t kTilesForOneThread = 28;
// Planes a power of two apart would compete for the same lines of the cache.
constexpr std::size_t kPlanePadding = 16;

// G·g·Gᵀ for one filter, into (tile+2)² numbers.
template <std::size_t kSide>
void transform_filter(const double (&matrix)[kSide][3], const float* filter, double* out) {
  double half[kSide][3];
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      half[i][j] = matrix[i][0] * static_cast<double>(filter[j]) +
                   matrix[i][1] * static_cast<double>(filter[3 + j]) +
                   matrix[i][2] * static_cast<double>(filter[6 + j]);
    }
  }
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < kSide; ++j) {
      out[i * kSide + j] =
          half[i][0] * matrix[j][0] + half[i][1] * matrix[j][1] + half[i][2] * matrix[j][2];
    }
  }
}

constexpr double kFilterOfFour[6][3] = {
    {1.0 / 4, 0, 0},
    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
    {1.0 / 24, 1.0 / 12, 1.0 / 6},
    {1.0 / 24, -1.0 / 12, 1.0 / 6},
    {0, 0, 1},
};

// Additions and multiplications of the two transforms for one channel of one tile.
constexpr std::int64_t input_transform_flops(std::size_t tile) {
  return tile == 2 ? 8 * 4 : 12 * 19;
}
constexpr std::int64_t output_transform_flops(std::size_t tile) {
  return tile == 2 ? 6 * 4 : 10 * 13;
}

ChannelLayout layout_of(std::size_t channels, std::size_t pixels, std::size_t block) {
  if (block == 0) return {channels, channels, 0, pixels * channels};
  return {block, block, pixels * block, pixels * channels};
}

WinogradShape shape_of(std::size_t tile, const WindowGrid& grid, std::int64_t channels,
                       std::int64_t outputs, std::size_t block) {
  const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  const WindowAxis& down = grid.axes[1];
  const WindowAxis& across = grid.axes[2];
  return {.tile = tile,
          .height = size(down.input),
          .width = size(across.input),
          .channels = size(channels),
          .rows = size(down.output),
          .columns = size(across.output),
          .outputs = size(outputs),
          .pad_top = down.pad_begin,
          .pad_left = across.pad_begin,
          .tiles_down = (size(down.output) + tile - 1) / tile,
          .tiles_across = (size(across.output) + tile - 1) / tile,
          .in = layout_of(size(channels), size(grid.input_elements()), block),
          .out = layout_of(size(outputs), size(grid.output_elements()), block)};
}

}  // namespace

Winograd::Winograd(std::size_t tile, const WindowGrid& grid, std::int64_t images,
                   std::int64_t channels, std::int64_t outputs, const Epilogue& epilogue,
                   int threads, const SimdKernels& kernels, std::size_t block)
    : kernels_(kernels),
      shape_(shape_of(tile, grid, channels, outputs, block)),
      images_(static_cast<std::size_t>(images)),
      epilogue_(epilogue),
      threads_(threads) {
  const auto team = static_cast<std::size_t>(threads);
  const std::size_t bytes_of_tile =
      shape_.planes() * (shape_.channels + row_stride()) * sizeof(float);
  const std::size_t wanted = std::max(kBlockBytes / bytes_of_tile, kFewestTiles);
  blocks_ = (tiles() + wanted - 1) / wanted;
  block_for_each_thread_ = team > 1 && tiles() >= team * kTilesForOneThread;
  if (block_for_each_thread_) blocks_ = rounded_up(blocks_, team);
  tiles_in_block_ = (tiles() + blocks_ - 1) / blocks_;
}

std::size_t Winograd::row_stride() const {
  return panels() * kernels_.panel_width;
}

std::size_t Winograd::input_plane() const {
  return rounded_up(tiles_in_block_ * shape_.channels, kPlanePadding) + kPlanePadding;
}

std::size_t Winograd::product_plane() const {
  return tiles_in_block_ * row_stride() + kPlanePadding;
}

std::size_t Winograd::workspace_of_block() const {
  return shape_.planes() * (input_plane() + product_plane());
}

std::size_t Winograd::weight_floats() const {
  const std::size_t numbers = shape_.planes() * shape_.channels * row_stride();
  return weights_ ? numbers / 2 : numbers;  // panels have an even width
}

std::size_t Winograd::workspace_floats() const {
  return workspace_of_block() * (block_for_each_thread_ ? static_cast<std::size_t>(threads_) : 1);
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

void Winograd::run_block(const ConvolutionOperands& operands, std::size_t block, float* workspace,
                         int threads) const {
  const std::size_t first = tiles() * block / blocks_;
  const std::size_t count = tiles() * (block + 1) / blocks_ - first;
  float* inputs = workspace;
  float* products = workspace + shape_.planes() * input_plane();
  const auto over_tiles = [&](auto work) {
    execute::in_parallel(threads, static_cast<std::int64_t>(count),
                         [&](std::int64_t from, std::int64_t to) {
                           work(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
                         });
  };
  over_tiles([&](std::size_t from, std::size_t to) {
    kernels_.winograd_input(shape_, operands.source, first + from, first + to,
                            inputs + from * shape_.channels, input_plane());
  });
  const auto parts = static_cast<std::int64_t>(shape_.planes() * panels());
  execute::in_parallel(threads, parts, [&](std::int64_t from, std::int64_t to) {
    for (auto part = static_cast<std::size_t>(from); part < static_cast<std::size_t>(to); ++part) {
      const std::size_t plane = part / panels();
      multiply(inputs + plane * input_plane(), count, operands.weights, part,
               products + plane * product_plane() + part % panels() * kernels_.panel_width);
    }
  });
  const Epilogue epilogue = bound_epilogue(operands, epilogue_);
  over_tiles([&](std::size_t from, std::size_t to) {
    kernels_.winograd_output(shape_, products + from * row_stride(), product_plane(), row_stride(),
                             first + from, first + to, epilogue, operands.result);
  });
}

void Winograd::run(const ConvolutionOperands& operands) const {
  if (!block_for_each_thread_) {
    for (std::size_t block = 0; block < blocks_; ++block) {
      run_block(operands, block, operands.workspace, threads_);
    }
    return;
  }
  const auto team = static_cast<std::size_t>(threads_);
  execute::in_parallel(threads_, threads_, [&](std::int64_t from, std::int64_t to) {
    for (auto thread = static_cast<std::size_t>(from); thread < static_cast<std::size_t>(to);
         ++thread) {
      float* workspace = operands.workspace + thread * workspace_of_block();
      const std::size_t last = blocks_ * (thread + 1) / team;
      for (std::size_t block = blocks_ * thread / team; block < last; ++block) {
        run_block(operands, block, workspace, 1);
      }
    }
  });
}

}  // namespace assay::cpu
