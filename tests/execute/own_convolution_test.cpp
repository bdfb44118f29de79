// Convolutions of our own against the sum that defines them, in double precision.
#include "execute/onednn/own_convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "execute/all_kernels.h"
#include "execute/onednn/patch_product.h"
#include "execute/onednn/row_winograd.h"
#include "execute/onednn/winograd.h"

namespace assay::onednn {
namespace {

struct Sizes {
  std::int64_t images, channels, outputs, height, width;
  std::int64_t kernel = 3, stride = 1, pad_begin = 1, pad_end = 1, dilation = 1;
};

WindowAxis axis_of(const Sizes& sizes, std::int64_t input) {
  WindowAxis axis{.input = input,
                  .kernel = sizes.kernel,
                  .stride = sizes.stride,
                  .dilation = sizes.dilation,
                  .pad_begin = sizes.pad_begin,
                  .pad_end = sizes.pad_end};
  axis.output = (input + sizes.pad_begin + sizes.pad_end - axis.extent()) / sizes.stride + 1;
  return axis;
}

WindowGrid grid_of(const Sizes& sizes) {
  WindowGrid grid;
  grid.rank = 2;
  grid.axes[1] = axis_of(sizes, sizes.height);
  grid.axes[2] = axis_of(sizes, sizes.width);
  return grid;
}

struct Data {
  std::vector<float> source, weights, bias, addend;
};

Data random_data(const Sizes& sizes, const WindowGrid& grid) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = normal(generator);
    return values;
  };
  return {.source = numbers(sizes.images * grid.input_elements() * sizes.channels),
          .weights = numbers(sizes.outputs * sizes.channels * grid.taps()),
          .bias = numbers(sizes.outputs),
          .addend = numbers(sizes.images * grid.output_elements() * sizes.outputs)};
}

// One number of the result, before addend and clamp.
double sum_at(const Sizes& sizes, const WindowGrid& grid, const Data& data, std::int64_t image,
              std::int64_t y, std::int64_t x, std::int64_t output) {
  double sum = data.bias[static_cast<std::size_t>(output)];
  for (std::int64_t channel = 0; channel < sizes.channels; ++channel) {
    for (std::int64_t i = 0; i < sizes.kernel; ++i) {
      for (std::int64_t j = 0; j < sizes.kernel; ++j) {
        const std::int64_t row = grid.axes[1].position(y, i);
        const std::int64_t column = grid.axes[2].position(x, j);
        if (row < 0 || column < 0 || row >= sizes.height || column >= sizes.width) continue;
        const std::int64_t pixel = (image * sizes.height + row) * sizes.width + column;
        const std::int64_t tap =
            ((output * sizes.channels + channel) * sizes.kernel + i) * sizes.kernel + j;
        sum += static_cast<double>(
                   data.source[static_cast<std::size_t>(pixel * sizes.channels + channel)]) *
               static_cast<double>(data.weights[static_cast<std::size_t>(tap)]);
      }
    }
  }
  return sum;
}

void expect_defining_sum(const OwnConvolution& convolution, const Sizes& sizes,
                         const ConvolutionEnding& ending, double tolerance) {
  const WindowGrid grid = grid_of(sizes);
  const Data data = random_data(sizes, grid);
  std::vector<float> packed(convolution.weight_floats());
  convolution.pack_weights(data.weights.data(), packed.data());
  std::vector<float> scratch(convolution.scratch_floats(), std::nanf(""));
  std::vector<float> result = data.addend;  // in place, where something is added
  convolution.run({.source = data.source.data(),
                   .weights = packed.data(),
                   .bias = data.bias.data(),
                   .addend = ending.adds ? result.data() : nullptr,
                   .result = result.data(),
                   .scratch = scratch.data()});
  const double scale = std::sqrt(static_cast<double>(sizes.channels * grid.taps()));
  std::size_t at = 0;
  for (std::int64_t image = 0; image < sizes.images; ++image) {
    for (std::int64_t y = 0; y < grid.axes[1].output; ++y) {
      for (std::int64_t x = 0; x < grid.axes[2].output; ++x) {
        for (std::int64_t output = 0; output < sizes.outputs; ++output, ++at) {
          double wanted = sum_at(sizes, grid, data, image, y, x, output);
          if (ending.adds) wanted += static_cast<double>(data.addend[at]);
          wanted = std::fmin(std::fmax(wanted, static_cast<double>(ending.low)),
                             static_cast<double>(ending.high));
          ASSERT_NEAR(static_cast<double>(result[at]), wanted, tolerance * scale)
              << "image " << image << " row " << y << " column " << x << " output " << output;
        }
      }
    }
  }
}

// With every ending and instruction set; `make(ending, kernels)` plans the convolution.
template <typename Make>
void expect_defining_sums(const Sizes& sizes, double tolerance, const Make& make) {
  const ConvolutionEnding endings[] = {
      {}, {.adds = false, .low = 0}, {.adds = true, .low = -1, .high = 1}};
  for (const ConvolutionEnding& ending : endings) {
    for (const SimdKernels* kernels : all_kernels()) {
      expect_defining_sum(make(ending, *kernels), sizes, ending, tolerance);
    }
  }
}

Winograd winograd_of(const Sizes& sizes, std::size_t tile, const ConvolutionEnding& ending,
                     int threads, const SimdKernels& kernels) {
  return Winograd(tile, grid_of(sizes), sizes.images, sizes.channels, sizes.outputs, ending,
                  threads, kernels);
}

// Whole and partial tiles, vectors and panels; no padding and much; few tiles and many blocks.
const Sizes kThreeByThree[] = {
    {.images = 1, .channels = 16, .outputs = 32, .height = 8, .width = 8},
    {.images = 2, .channels = 5, .outputs = 7, .height = 9, .width = 6},
    {.images = 1, .channels = 33, .outputs = 70, .height = 7, .width = 7},
    {.images = 1,
     .channels = 3,
     .outputs = 4,
     .height = 3,
     .width = 3,
     .pad_begin = 0,
     .pad_end = 0},
    {.images = 1,
     .channels = 4,
     .outputs = 4,
     .height = 5,
     .width = 4,
     .pad_begin = 2,
     .pad_end = 1},
    {.images = 3, .channels = 16, .outputs = 16, .height = 40, .width = 36},
};

TEST(OwnConvolution, WinogradEqualsTheDefiningSum) {
  for (const Sizes& sizes : kThreeByThree) {
    for (const std::size_t tile : {2u, 4u}) {
      for (const int threads : {1, 2, 3}) {
        expect_defining_sums(sizes, tile == 2 ? 6e-6 : 3e-5, [&](auto& ending, auto& kernels) {
          return winograd_of(sizes, tile, ending, threads, kernels);
        });
      }
    }
  }
}

TEST(OwnConvolution, WinogradCountsWhatItExecutes) {
  const Sizes sizes{.images = 1, .channels = 16, .outputs = 32, .height = 8, .width = 8};
  const Winograd winograd = winograd_of(sizes, 4, {}, 1, simd());
  const std::int64_t tiles = 4;
  EXPECT_EQ(winograd.flops(), tiles * (2 * 36 * 16 * 32 + 12 * 19 * 16 + 10 * 13 * 32));
}

RowWinograd row_winograd_of(const Sizes& sizes, const ConvolutionEnding& ending, int threads,
                            const SimdKernels& kernels) {
  return RowWinograd(grid_of(sizes), sizes.images, sizes.channels, sizes.outputs, ending, threads,
                     kernels);
}

TEST(OwnConvolution, WinogradAlongRowsEqualsTheDefiningSum) {
  std::vector<Sizes> all(std::begin(kThreeByThree), std::end(kThreeByThree));
  all.push_back({.images = 2, .channels = 300, .outputs = 33, .height = 4, .width = 5});
  for (const Sizes& sizes : all) {
    for (const int threads : {1, 2, 3}) {
      expect_defining_sums(sizes, 6e-6, [&](auto& ending, auto& kernels) {
        return row_winograd_of(sizes, ending, threads, kernels);
      });
    }
  }
}

TEST(OwnConvolution, WinogradAlongRowsCountsWhatItExecutes) {
  const Sizes sizes{.images = 1, .channels = 16, .outputs = 32, .height = 7, .width = 7};
  const std::int64_t pairs = 4;
  EXPECT_EQ(row_winograd_of(sizes, {}, 1, simd()).flops(),
            2 * 4 * 7 * pairs * 3 * 16 * 32 + 4 * 9 * pairs * 16 + 4 * 7 * pairs * 32);
}

TEST(OwnConvolution, PatchesTimesWeightsEqualTheDefiningSum) {
  std::vector<Sizes> all(std::begin(kThreeByThree), std::end(kThreeByThree));
  all.push_back({.images = 1,
                 .channels = 48,
                 .outputs = 40,
                 .height = 7,
                 .width = 7,
                 .kernel = 1,
                 .pad_begin = 0,
                 .pad_end = 0});
  all.push_back({.images = 2,
                 .channels = 300,
                 .outputs = 33,
                 .height = 5,
                 .width = 6,
                 .kernel = 1,
                 .stride = 2,
                 .pad_begin = 0,
                 .pad_end = 0});
  all.push_back({.images = 1,
                 .channels = 3,
                 .outputs = 8,
                 .height = 15,
                 .width = 15,
                 .kernel = 7,
                 .stride = 2,
                 .pad_begin = 3,
                 .pad_end = 3});
  all.push_back({.images = 1,
                 .channels = 6,
                 .outputs = 5,
                 .height = 9,
                 .width = 9,
                 .pad_begin = 2,
                 .pad_end = 2,
                 .dilation = 2});
  for (const Sizes& sizes : all) {
    for (const int threads : {1, 2}) {
      expect_defining_sums(sizes, 6e-6, [&](auto& ending, auto& kernels) {
        return PatchProduct(grid_of(sizes), sizes.images, sizes.channels, sizes.outputs, ending,
                            threads, kernels);
      });
    }
  }
}

}  // namespace
}  // namespace assay::onednn
