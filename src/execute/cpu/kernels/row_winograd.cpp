#include "execute/cpu/kernels/row_winograd.h"

#include <algorithm>

#include "execute/cpu/kernels/winograd_filter.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowGrid;

namespace {

constexpr std::size_t kPlanes = 4;
constexpr std::size_t kTaps = 3;
// Channels that are multiplied before the next: a panel of them stays in a core's nearest cache.
constexpr std::size_t kChannelsAtOnce = 256;
// Planes a power of two apart would compete for the same lines of the cache.
constexpr std::size_t kRowPlanePadding = 16;

}  // namespace

RowWinograd::RowWinograd(const WindowGrid& grid, std::int64_t images, std::int64_t channels,
                         std::int64_t outputs, const Epilogue& epilogue, int threads,
                         const SimdKernels& kernels)
    : kernels_(kernels),
      down_(grid.axes[1]),
      across_(grid.axes[2]),
      images_(static_cast<std::size_t>(images)),
      channels_(static_cast<std::size_t>(channels)),
      outputs_(static_cast<std::size_t>(outputs)),
      rows_(static_cast<std::size_t>(down_.output)),
      padded_rows_(rows_ + kTaps - 1),
      pairs_((static_cast<std::size_t>(across_.output) + 1) / 2),
      epilogue_(epilogue),
      threads_(threads),
      zeros_(channels_) {}

std::size_t RowWinograd::input_plane() const {
  return images_ * padded_rows_ * pairs_ * channels_ + kRowPlanePadding;
}

std::size_t RowWinograd::product_plane() const {
  return images_ * rows_ * pairs_ * row_stride() + kRowPlanePadding;
}

std::size_t RowWinograd::weight_floats() const {
  return kPlanes * kTaps * channels_ * row_stride();
}

std::size_t RowWinograd::workspace_floats() const {
  return kPlanes * (input_plane() + product_plane());
}

std::int64_t RowWinograd::flops() const {
  const std::size_t pairs = images_ * rows_ * pairs_;
  const std::size_t products = 2 * kPlanes * pairs * kTaps * channels_ * outputs_;
  const std::size_t transforms =
      kPlanes * (images_ * padded_rows_ * pairs_ * channels_ + pairs * outputs_);
  return static_cast<std::int64_t>(products + transforms);
}

// Plane by plane, panel by panel, tap row by tap row: [channels, panel_width] each.
void RowWinograd::pack_weights(const float* weights, float* packed) const {
  const std::size_t width = kernels_.panel_width;
  const std::size_t plane = kTaps * channels_ * row_stride();
  execute::for_each_in_parallel(threads_, outputs_, [&](std::size_t output) {
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      for (std::size_t tap = 0; tap < kTaps; ++tap) {
        const float* filter = weights + ((output * channels_ + channel) * kTaps + tap) * kTaps;
        float* to_fill = packed + ((output / width * kTaps + tap) * channels_ + channel) * width +
                         output % width;
        for (std::size_t i = 0; i < kPlanes; ++i) {
          const auto& factors = kFilterOfTwo[i];
          to_fill[i * plane] = static_cast<float>(factors[0] * static_cast<double>(filter[0]) +
                                                  factors[1] * static_cast<double>(filter[1]) +
                                                  factors[2] * static_cast<double>(filter[2]));
        }
      }
    }
  });
}

// Four neighbouring pixels a, b, c, d give a - c, b + c, c - b and b - d.
void RowWinograd::transform_row(const float* source, std::size_t padded_row, float* inputs) const {
  const std::size_t image = padded_row / padded_rows_;
  const std::int64_t y = static_cast<std::int64_t>(padded_row % padded_rows_) - down_.pad_begin;
  const auto pixel = [&](std::int64_t x) {
    if (y < 0 || y >= down_.input || x < 0 || x >= across_.input) return zeros_.data();
    const auto at = static_cast<std::size_t>(y * across_.input + x);
    const auto pixels = static_cast<std::size_t>(down_.input * across_.input);
    return source + (image * pixels + at) * channels_;
  };
  for (std::size_t pair = 0; pair < pairs_; ++pair) {
    const std::int64_t x = 2 * static_cast<std::int64_t>(pair) - across_.pad_begin;
    float* out = inputs + (padded_row * pairs_ + pair) * channels_;
    const auto combine = [&](std::size_t plane, BinaryOp op, std::int64_t one, std::int64_t other) {
      kernels_.binary(op, pixel(x + one), pixel(x + other), out + plane * input_plane(), channels_);
    };
    combine(0, BinaryOp::Sub, 0, 2);
    combine(1, BinaryOp::Add, 1, 2);
    combine(2, BinaryOp::Sub, 2, 1);
    combine(3, BinaryOp::Sub, 1, 3);
  }
}

// One panel of one plane. Rows of the images that a tap row sees lie one after another.
void RowWinograd::multiply(const float* inputs, const float* weights, std::size_t part,
                           float* products) const {
  const std::size_t width = kernels_.panel_width;
  const float* panel = weights + part * kTaps * channels_ * width;
  const float* seen = inputs + part / panels() * input_plane();
  float* out = products + part / panels() * product_plane() + part % panels() * width;
  for (std::size_t tap = 0; tap < kTaps; ++tap) {
    for (std::size_t start = 0; start < channels_; start += kChannelsAtOnce) {
      const std::size_t depth = std::min(kChannelsAtOnce, channels_ - start);
      const bool is_first = tap == 0 && start == 0;
      const auto product = is_first ? kernels_.panel_product : kernels_.add_panel_product;
      for (std::size_t image = 0; image < images_; ++image) {
        product(seen + (image * padded_rows_ + tap) * pairs_ * channels_ + start, rows_ * pairs_,
                channels_, panel, depth, out + image * rows_ * pairs_ * row_stride(), row_stride(),
                {panel + depth * width, depth * width});
      }
      panel += depth * width;
    }
  }
}

// Products p, q, r, s give p + q + r and q - r - s.
void RowWinograd::finish_pair(const ConvolutionOperands& operands, std::size_t pair,
                              float* products) const {
  float* planes[kPlanes];
  for (std::size_t i = 0; i < kPlanes; ++i) {
    planes[i] = products + i * product_plane() + pair * row_stride();
  }
  const auto update = [&](BinaryOp op, std::size_t to, std::size_t by) {
    kernels_.binary(op, planes[to], planes[by], planes[to], outputs_);
  };
  const auto columns = static_cast<std::size_t>(across_.output);
  const std::size_t column = 2 * (pair % pairs_);
  const auto finish = [&](const float* sums, std::size_t next) {
    const std::size_t at = (pair / pairs_ * columns + column + next) * outputs_;
    kernels_.finish(bound_epilogue(operands, epilogue_, at), sums, operands.result + at, outputs_);
  };
  update(BinaryOp::Add, 0, 1);
  update(BinaryOp::Add, 0, 2);
  finish(planes[0], 0);
  if (column + 1 == columns) return;
  update(BinaryOp::Sub, 1, 2);
  update(BinaryOp::Sub, 1, 3);
  finish(planes[1], 1);
}

void RowWinograd::run(const ConvolutionOperands& operands) const {
  float* inputs = operands.workspace;
  float* products = inputs + kPlanes * input_plane();
  execute::for_each_in_parallel(threads_, images_ * padded_rows_, [&](std::size_t row) {
    transform_row(operands.source, row, inputs);
  });
  execute::for_each_in_parallel(threads_, kPlanes * panels(), [&](std::size_t part) {
    multiply(inputs, operands.weights, part, products);
  });
  execute::for_each_in_parallel(threads_, images_ * rows_ * pairs_,
                                [&](std::size_t pair) { finish_pair(operands, pair, products); });
}

}  // namespace assay::cpu
