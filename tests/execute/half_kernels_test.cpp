// Kernels of our own on 16-bit numbers against the sum that defines them, in double precision and
// of the rounded operands: every instruction set, format, epilogue and team of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "execute/all_kernels.h"
#include "execute/cpu/kernels/depthwise.h"
#include "execute/cpu/kernels/panel_convolution.h"
#include "execute/cpu/kernels/winograd.h"
#include "execute/emulated.h"
#include "execute/finish_like.h"

namespace assay::cpu {
namespace {

using kernels::WindowAxis;
using kernels::WindowGrid;

struct HalfCase {
  std::int64_t images = 1, channels = 1, outputs = 1, height = 1, width = 1;
  std::int64_t kernel = 3, stride = 1, pad = 1, dilation = 1;
};

WindowGrid grid_of_case(const HalfCase& one) {
  WindowGrid grid{.rank = 2};
  const auto axis_over = [&](std::int64_t input) {
    WindowAxis axis{.input = input,
                    .kernel = one.kernel,
                    .stride = one.stride,
                    .dilation = one.dilation,
                    .pad_begin = one.pad,
                    .pad_end = one.pad};
    axis.output = (input + 2 * one.pad - axis.extent()) / one.stride + 1;
    return axis;
  };
  grid.axes[1] = axis_over(one.height);
  grid.axes[2] = axis_over(one.width);
  return grid;
}

// Numbers that the format holds, as floats and in 16 bits.
struct Halves {
  std::vector<float> floats;
  std::vector<std::uint16_t> bits;
};

Halves random_halves(std::int64_t count, HalfFormat format, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Halves made{.floats = std::vector<float>(static_cast<std::size_t>(count)), .bits = {}};
  made.bits.resize(made.floats.size());
  for (float& number : made.floats) number = normal(generator);
  simd().narrow(format, made.floats.data(), made.bits.data(), made.bits.size());
  simd().widen(format, made.bits.data(), made.floats.data(), made.bits.size());
  return made;
}

struct HalfData {
  Halves source, weights, addend;
  std::vector<float> bias;
};

HalfData half_data(const HalfCase& one, const WindowGrid& grid, HalfFormat format,
                   bool is_depthwise) {
  const std::int64_t inputs = is_depthwise ? 1 : one.channels;
  return {.source = random_halves(one.images * grid.input_elements() * one.channels, format, 1),
          .weights = random_halves(one.outputs * inputs * grid.taps(), format, 2),
          .addend = random_halves(one.images * grid.output_elements() * one.outputs, format, 3),
          .bias = random_halves(one.outputs, format, 4).floats};
}

double defining_sum(const HalfCase& one, const WindowGrid& grid, const HalfData& data,
                    bool is_depthwise, std::int64_t image, std::int64_t y, std::int64_t x,
                    std::int64_t output) {
  double sum = static_cast<double>(data.bias[static_cast<std::size_t>(output)]);
  const std::int64_t first = is_depthwise ? output : 0;
  const std::int64_t inputs = is_depthwise ? 1 : one.channels;
  for (std::int64_t c = 0; c < inputs; ++c) {
    for (std::int64_t tap = 0; tap < grid.taps(); ++tap) {
      const std::int64_t row = grid.axes[1].position(y, tap / one.kernel);
      const std::int64_t column = grid.axes[2].position(x, tap % one.kernel);
      if (row < 0 || column < 0 || row >= one.height || column >= one.width) continue;
      const std::int64_t pixel = (image * one.height + row) * one.width + column;
      sum += static_cast<double>(
                 data.source.floats[static_cast<std::size_t>(pixel * one.channels + first + c)]) *
             static_cast<double>(
                 data.weights
                     .floats[static_cast<std::size_t>((output * inputs + c) * grid.taps() + tap)]);
    }
  }
  return sum;
}

std::vector<float> run_halves(const OwnConvolution& own, const HalfData& data, HalfFormat format) {
  std::vector<float> packed(own.weight_floats(), std::nanf(""));
  own.pack_weights(data.weights.floats.data(), packed.data());
  std::vector<float> workspace(own.workspace_floats(), std::nanf(""));
  std::vector<std::uint16_t> result = data.addend.bits;  // in place, where something is added
  auto* to = reinterpret_cast<float*>(result.data());
  own.run({.source = reinterpret_cast<const float*>(data.source.bits.data()),
           .weights = packed.data(),
           .bias = data.bias.data(),
           .addend = own.adds() ? to : nullptr,
           .result = to,
           .workspace = workspace.data()});
  std::vector<float> floats(result.size());
  simd().widen(format, result.data(), floats.data(), result.size());
  return floats;
}

// `error` is what sums and rounded weights may add to the rounding of the result.
void expect_defining_halves(const OwnConvolution& own, const HalfCase& one, HalfFormat format,
                            bool is_depthwise, const Epilogue& epilogue, double error) {
  const WindowGrid grid = grid_of_case(one);
  const HalfData data = half_data(one, grid, format, is_depthwise);
  const std::vector<float> result = run_halves(own, data, format);
  const double rounding = format == HalfFormat::Float16 ? 1.0 / 2048 : 1.0 / 256;
  std::size_t at = 0;
  for (std::int64_t image = 0; image < one.images; ++image) {
    for (std::int64_t y = 0; y < grid.axes[1].output; ++y) {
      for (std::int64_t x = 0; x < grid.axes[2].output; ++x) {
        for (std::int64_t output = 0; output < one.outputs; ++output, ++at) {
          double wanted = defining_sum(one, grid, data, is_depthwise, image, y, x, output);
          if (epilogue.adds) wanted += static_cast<double>(data.addend.floats[at]);
          wanted = std::fmin(std::fmax(wanted, static_cast<double>(epilogue.low)),
                             static_cast<double>(epilogue.high));
          ASSERT_NEAR(static_cast<double>(result[at]), wanted, rounding * std::abs(wanted) + error)
              << "row " << y << " column " << x << " output " << output;
        }
      }
    }
  }
}

const Epilogue kEpilogues[] = {{}, {.adds = false, .low = 0}, {.adds = true, .low = -1, .high = 1}};

template <typename Check>
void with_everything(const Check& check) {
  for (const HalfFormat format : {HalfFormat::Float16, HalfFormat::Bfloat16}) {
    for (const Epilogue& epilogue : kEpilogues) {
      for (const int threads : {1, 3}) {
        for (const SimdKernels* kernels : all_kernels()) check(format, epilogue, threads, *kernels);
      }
    }
  }
}

TEST(HalfKernels, ConvolutionEqualsTheDefiningSum) {
  const HalfCase cases[] = {
      {.channels = 16, .outputs = 40, .height = 9, .width = 10},
      {.channels = 3, .outputs = 8, .height = 12, .width = 11, .kernel = 7, .stride = 2, .pad = 3},
      {.images = 2, .channels = 70, .outputs = 33, .height = 5, .width = 4, .kernel = 1, .pad = 0},
      {.channels = 300, .outputs = 5, .height = 2, .width = 3, .kernel = 1, .pad = 0},
      {.channels = 6, .outputs = 7, .height = 9, .width = 9, .pad = 2, .dilation = 2},
      {.channels = 4, .outputs = 3, .height = 1, .width = 1, .kernel = 5, .pad = 2},
  };
  for (const HalfCase& one : cases) {
    with_everything([&](auto format, auto& epilogue, int threads, auto& kernels) {
      const PanelConvolution own({.grid = grid_of_case(one),
                                  .images = static_cast<std::size_t>(one.images),
                                  .channels = static_cast<std::size_t>(one.channels),
                                  .outputs = static_cast<std::size_t>(one.outputs),
                                  .weights = format,
                                  .source = format,
                                  .result = format},
                                 finish_like(epilogue), threads, kernels);
      expect_defining_halves(own, one, format, false, epilogue, 1e-4);
    });
  }
}

// A stretch of 32 products is summed in float16, with a rounding of 2⁻¹² of the sum at each: 0.05 %
// of the results' root mean square, and eight times that where thousands are compared.
TEST(HalfKernels, ConvolutionInFloat16ComesNearTheDefiningSum) {
  const HalfCase cases[] = {
      {.channels = 16, .outputs = 40, .height = 9, .width = 10},
      {.channels = 3, .outputs = 8, .height = 12, .width = 11, .kernel = 7, .stride = 2, .pad = 3},
      {.images = 2, .channels = 70, .outputs = 33, .height = 5, .width = 4, .kernel = 1, .pad = 0},
      {.channels = 300, .outputs = 5, .height = 2, .width = 3, .kernel = 1, .pad = 0},
      {.channels = 6, .outputs = 7, .height = 9, .width = 9, .pad = 2, .dilation = 2},
      {.channels = 33, .outputs = 300, .height = 7, .width = 7},
  };
  const auto is_wide = [](const SimdKernels& one) { return one.panel_width == kFp16Columns; };
  for (const HalfCase& one : cases) {
    with_everything([&](auto format, auto& epilogue, int threads, auto& kernels) {
      if (format != HalfFormat::Float16 || !is_wide(kernels)) return;
      PanelConvolution own({.grid = grid_of_case(one),
                            .images = static_cast<std::size_t>(one.images),
                            .channels = static_cast<std::size_t>(one.channels),
                            .outputs = static_cast<std::size_t>(one.outputs),
                            .weights = format,
                            .source = format,
                            .result = format},
                           finish_like(epilogue), threads, kernels);
      ASSERT_TRUE(own.may_compute_in_float16());
      const double size = std::sqrt(static_cast<double>(one.kernel * one.kernel * one.channels));
      for (const Fp16Kernels* arithmetic : {&fp16_emulated(), fp16()}) {
        if (arithmetic == nullptr) continue;
        own.compute_in_float16(*arithmetic);
        expect_defining_halves(own, one, format, false, epilogue, 4e-3 * size);
      }
    });
  }
}

TEST(HalfKernels, DepthwiseEqualsTheDefiningSum) {
  const HalfCase cases[] = {
      {.channels = 16, .outputs = 16, .height = 9, .width = 10},
      {.images = 2, .channels = 40, .outputs = 40, .height = 7, .width = 13, .stride = 2},
      {.channels = 5, .outputs = 5, .height = 8, .width = 9, .kernel = 5, .pad = 2},
      {.channels = 20,
       .outputs = 20,
       .height = 11,
       .width = 12,
       .kernel = 5,
       .stride = 2,
       .pad = 2},
      {.channels = 17, .outputs = 17, .height = 9, .width = 9, .pad = 2, .dilation = 2},
      {.channels = 3, .outputs = 3, .height = 6, .width = 6, .kernel = 4, .stride = 3, .pad = 0},
      {.channels = 8, .outputs = 8, .height = 2, .width = 2},
  };
  for (const HalfCase& one : cases) {
    with_everything([&](auto format, auto& epilogue, int threads, auto& kernels) {
      const Depthwise own(grid_of_case(one), one.images, one.channels, format, epilogue, threads,
                          kernels);
      expect_defining_halves(own, one, format, true, epilogue, 1e-5);
    });
  }
}

// Weights that were transformed are rounded to 16 bits: that adds 0.4 % of the results' root mean
// square at most.
TEST(HalfKernels, WinogradComesNearTheDefiningSum) {
  const HalfCase cases[] = {{.channels = 16, .outputs = 40, .height = 9, .width = 10},
                            {.images = 2, .channels = 5, .outputs = 7, .height = 13, .width = 6}};
  for (const HalfCase& one : cases) {
    for (const std::size_t tile : {2u, 4u}) {
      with_everything([&](auto format, auto& epilogue, int threads, auto& kernels) {
        Winograd own(tile, grid_of_case(one), one.images, one.channels, one.outputs, epilogue,
                     threads, kernels);
        own.take_halves(format);
        if (format == HalfFormat::Float16) own.store_weights_as_integers();
        const double scale = std::sqrt(static_cast<double>(9 * one.channels));
        expect_defining_halves(own, one, format, false, epilogue,
                               scale * (format == HalfFormat::Float16 ? 4e-3 : 1e-4));
      });
    }
  }
}

TEST(HalfKernels, MatricesArePackedFromRowsOrColumnsAlike) {
  constexpr std::size_t kDepth = 37, kColumns = 45;
  WindowGrid rows{.rank = 1};
  rows.axes[2].input = rows.axes[2].output = 3;
  const PanelConvolution own(
      {.grid = rows, .channels = kDepth, .outputs = kColumns, .weights = HalfFormat::Float16}, {},
      1);
  const Halves weights = random_halves(kDepth * kColumns, HalfFormat::Float16, 5);
  std::vector<float> transposed(kDepth * kColumns);
  simd().transpose(weights.floats.data(), kDepth, transposed.data(), kColumns, kColumns, kDepth);
  std::vector<float> by_rows(own.weight_floats()), by_columns(own.weight_floats());
  own.pack_weights(weights.floats.data(), by_rows.data());
  own.pack_transposed(transposed.data(), by_columns.data());
  EXPECT_EQ(std::memcmp(by_rows.data(), by_columns.data(), by_rows.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace assay::cpu
