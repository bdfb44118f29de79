// Convolutions of our own against the sum that defines them, in double precision.
#include "execute/cpu/kernels/own_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "execute/all_kernels.h"
#include "execute/cpu/kernels/depthwise.h"
#include "execute/cpu/kernels/panel_convolution.h"
#include "execute/cpu/kernels/patch_product.h"
#include "execute/cpu/kernels/row_winograd.h"
#include "execute/cpu/kernels/trained_winograd.h"
#include "execute/cpu/kernels/winograd.h"
#include "execute/finish_like.h"

namespace assay::cpu {

using namespace assay::kernels;

namespace {

struct Sizes {
  std::int64_t images, channels, outputs, height, width;
  std::int64_t kernel = 3, stride = 1, pad_begin = 1, pad_end = 1, dilation = 1;
  bool is_depthwise = false;

  std::int64_t filter_channels() const { return is_depthwise ? 1 : channels; }
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
          .weights = numbers(sizes.outputs * sizes.filter_channels() * grid.taps()),
          .bias = numbers(sizes.outputs),
          .addend = numbers(sizes.images * grid.output_elements() * sizes.outputs)};
}

// One number of the result, before addend and clamp.
double sum_at(const Sizes& sizes, const WindowGrid& grid, const Data& data, std::int64_t image,
              std::int64_t y, std::int64_t x, std::int64_t output) {
  double sum = data.bias[static_cast<std::size_t>(output)];
  for (std::int64_t filter = 0; filter < sizes.filter_channels(); ++filter) {
    const std::int64_t channel = sizes.is_depthwise ? output : filter;
    for (std::int64_t i = 0; i < sizes.kernel; ++i) {
      for (std::int64_t j = 0; j < sizes.kernel; ++j) {
        const std::int64_t row = grid.axes[1].position(y, i);
        const std::int64_t column = grid.axes[2].position(x, j);
        if (row < 0 || column < 0 || row >= sizes.height || column >= sizes.width) continue;
        const std::int64_t pixel = (image * sizes.height + row) * sizes.width + column;
        const std::int64_t tap =
            ((output * sizes.filter_channels() + filter) * sizes.kernel + i) * sizes.kernel + j;
        sum += static_cast<double>(
                   data.source[static_cast<std::size_t>(pixel * sizes.channels + channel)]) *
               static_cast<double>(data.weights[static_cast<std::size_t>(tap)]);
      }
    }
  }
  return sum;
}

void expect_defining_sum(const OwnConvolution& convolution, const Sizes& sizes,
                         const Epilogue& epilogue, double tolerance) {
  const WindowGrid grid = grid_of(sizes);
  const Data data = random_data(sizes, grid);
  std::vector<float> packed(convolution.weight_floats());
  convolution.pack_weights(data.weights.data(), packed.data());
  std::vector<float> workspace(convolution.workspace_floats(), std::nanf(""));
  std::vector<float> result = data.addend;  // in place, where something is added
  convolution.run({.source = data.source.data(),
                   .weights = packed.data(),
                   .bias = data.bias.data(),
                   .addend = epilogue.adds ? result.data() : nullptr,
                   .result = result.data(),
                   .workspace = workspace.data()});
  const double scale = std::sqrt(static_cast<double>(sizes.channels * grid.taps()));
  std::size_t at = 0;
  for (std::int64_t image = 0; image < sizes.images; ++image) {
    for (std::int64_t y = 0; y < grid.axes[1].output; ++y) {
      for (std::int64_t x = 0; x < grid.axes[2].output; ++x) {
        for (std::int64_t output = 0; output < sizes.outputs; ++output, ++at) {
          double wanted = sum_at(sizes, grid, data, image, y, x, output);
          if (epilogue.adds) wanted += static_cast<double>(data.addend[at]);
          wanted = std::fmin(std::fmax(wanted, static_cast<double>(epilogue.low)),
                             static_cast<double>(epilogue.high));
          ASSERT_NEAR(static_cast<double>(result[at]), wanted, tolerance * scale)
              << "image " << image << " row " << y << " column " << x << " output " << output;
        }
      }
    }
  }
}

// With every epilogue and instruction set; `make(epilogue, kernels)` plans the convolution.
template <typename Make>
void expect_defining_sums(const Sizes& sizes, double tolerance, const Make& make) {
  const Epilogue epilogues[] = {
      {}, {.adds = false, .low = 0}, {.adds = true, .low = -1, .high = 1}};
  for (const Epilogue& epilogue : epilogues) {
    for (const SimdKernels* kernels : all_kernels()) {
      expect_defining_sum(make(epilogue, *kernels), sizes, epilogue, tolerance);
    }
  }
}

Winograd winograd_of(const Sizes& sizes, std::size_t tile, const Epilogue& epilogue, int threads,
                     const SimdKernels& kernels) {
  return Winograd(tile, grid_of(sizes), sizes.images, sizes.channels, sizes.outputs, epilogue,
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
        expect_defining_sums(sizes, tile == 2 ? 6e-6 : 3e-5, [&](auto& epilogue, auto& kernels) {
          return winograd_of(sizes, tile, epilogue, threads, kernels);
        });
      }
    }
  }
}

// From channels last to blocks of channels, or back; a block of 0 is channels last too.
enum class To { Blocks, ChannelsLast };
std::vector<float> rearranged(const std::vector<float>& images, std::int64_t count,
                              std::int64_t channels, std::int64_t block, To to) {
  if (block == 0) return images;
  std::vector<float> result(images.size());
  const std::int64_t pixels = static_cast<std::int64_t>(images.size()) / count / channels;
  for (std::int64_t image = 0; image < count; ++image) {
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const auto last = static_cast<std::size_t>((image * pixels + pixel) * channels + channel);
        const std::int64_t plane = image * (channels / block) + channel / block;
        const auto blocked =
            static_cast<std::size_t>((plane * pixels + pixel) * block + channel % block);
        if (to == To::Blocks) {
          result[blocked] = images[last];
        } else {
          result[last] = images[blocked];
        }
      }
    }
  }
  return result;
}

std::vector<float> run_trained(const TrainedWinograd& convolution, const std::vector<float>& source,
                               const std::vector<float>& weights, std::size_t results) {
  std::vector<float> packed(convolution.weight_floats());
  convolution.pack_weights(weights.data(), packed.data());
  std::vector<float> workspace(convolution.workspace_floats(), std::nanf(""));
  std::vector<float> result(results, std::nanf(""));
  convolution.run({.source = source.data(),
                   .weights = packed.data(),
                   .result = result.data(),
                   .workspace = workspace.data()});
  return result;
}

// What every pixel of the images gets back: from each window over it, by the tap that falls on it.
std::vector<double> gradients_of_images(const Sizes& sizes, const WindowGrid& grid,
                                        const std::vector<float>& gradients,
                                        const std::vector<float>& weights) {
  std::vector<double> sums(
      static_cast<std::size_t>(sizes.images * grid.input_elements() * sizes.channels));
  std::size_t at = 0;
  for (std::int64_t image = 0; image < sizes.images; ++image) {
    for (std::int64_t y = 0; y < grid.axes[1].output; ++y) {
      for (std::int64_t x = 0; x < grid.axes[2].output; ++x) {
        for (std::int64_t output = 0; output < sizes.outputs; ++output, ++at) {
          for (std::int64_t tap = 0; tap < 9; ++tap) {
            const std::int64_t row = grid.axes[1].position(y, tap / 3);
            const std::int64_t column = grid.axes[2].position(x, tap % 3);
            if (row < 0 || column < 0 || row >= sizes.height || column >= sizes.width) continue;
            const std::int64_t pixel = (image * sizes.height + row) * sizes.width + column;
            for (std::int64_t channel = 0; channel < sizes.channels; ++channel) {
              const std::int64_t weight = (output * sizes.channels + channel) * 9 + tap;
              sums[static_cast<std::size_t>(pixel * sizes.channels + channel)] +=
                  static_cast<double>(gradients[at]) *
                  static_cast<double>(weights[static_cast<std::size_t>(weight)]);
            }
          }
        }
      }
    }
  }
  return sums;
}

class TrainedWinogradTest : public testing::TestWithParam<std::int64_t> {
 protected:
  static constexpr Sizes kSizes[] = {
      {.images = 2, .channels = 16, .outputs = 32, .height = 9, .width = 6},
      {.images = 1, .channels = 48, .outputs = 16, .height = 7, .width = 7},
      {.images = 3, .channels = 16, .outputs = 16, .height = 24, .width = 30},
      {.images = 1,
       .channels = 16,
       .outputs = 16,
       .height = 6,
       .width = 5,
       .pad_begin = 0,
       .pad_end = 2},
      {.images = 2, .channels = 7, .outputs = 37, .height = 9, .width = 8}};  // no blocks

  // `check(sizes, grid, tile, threads, kernels)`
  template <typename Check>
  static void for_each_case(const Check& check) {
    const std::int64_t block = GetParam();
    for (const Sizes& sizes : kSizes) {
      if (block != 0 && sizes.channels % block != 0) continue;
      for (const std::size_t tile : {2u, 4u}) {
        for (const SimdKernels* kernels : all_kernels()) {
          const std::size_t vector = kernels->panel_width / 2;
          if (block != 0 && vector > static_cast<std::size_t>(block)) continue;  // wider
          for (const int threads : {1, 2}) check(sizes, grid_of(sizes), tile, threads, *kernels);
        }
      }
    }
  }
};

TEST_P(TrainedWinogradTest, EqualsTheDefiningSumForward) {
  const auto block = static_cast<std::size_t>(GetParam());
  for_each_case([&](const Sizes& sizes, const WindowGrid& grid, std::size_t tile, int threads,
                    const SimdKernels& kernels) {
    Data data = random_data(sizes, grid);
    std::ranges::fill(data.bias, 0.0f);
    const TrainedWinograd convolution(TrainedWinograd::Direction::Forward, tile, grid, sizes.images,
                                      sizes.channels, sizes.outputs, block, {}, threads, kernels);
    const auto source =
        rearranged(data.source, sizes.images, sizes.channels, GetParam(), To::Blocks);
    const auto result =
        rearranged(run_trained(convolution, source, data.weights, data.addend.size()), sizes.images,
                   sizes.outputs, GetParam(), To::ChannelsLast);
    const double scale = std::sqrt(9.0 * static_cast<double>(sizes.channels));
    std::size_t at = 0;
    for (std::int64_t image = 0; image < sizes.images; ++image) {
      for (std::int64_t y = 0; y < grid.axes[1].output; ++y) {
        for (std::int64_t x = 0; x < grid.axes[2].output; ++x) {
          for (std::int64_t output = 0; output < sizes.outputs; ++output, ++at) {
            const double wanted = sum_at(sizes, grid, data, image, y, x, output);
            ASSERT_NEAR(static_cast<double>(result[at]), wanted, 3e-5 * scale) << kernels.name;
          }
        }
      }
    }
  });
}

TEST_P(TrainedWinogradTest, EqualsTheDefiningSumBack) {
  const auto block = static_cast<std::size_t>(GetParam());
  for_each_case([&](const Sizes& sizes, const WindowGrid& grid, std::size_t tile, int threads,
                    const SimdKernels& kernels) {
    const Data data = random_data(sizes, grid);
    const auto wanted = gradients_of_images(sizes, grid, data.addend, data.weights);
    const TrainedWinograd convolution(TrainedWinograd::Direction::Backward, tile, grid,
                                      sizes.images, sizes.channels, sizes.outputs, block, {},
                                      threads, kernels);
    const auto source =
        rearranged(data.addend, sizes.images, sizes.outputs, GetParam(), To::Blocks);
    const auto result =
        rearranged(run_trained(convolution, source, data.weights, data.source.size()), sizes.images,
                   sizes.channels, GetParam(), To::ChannelsLast);
    const double scale = std::sqrt(9.0 * static_cast<double>(sizes.outputs));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(result[i]), wanted[i], 3e-5 * scale)
          << kernels.name << " tile " << tile << " at " << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Blocks, TrainedWinogradTest, testing::Values(0, 8, 16));

TEST(OwnConvolution, WinogradCountsWhatItExecutes) {
  const Sizes sizes{.images = 1, .channels = 16, .outputs = 32, .height = 8, .width = 8};
  const Winograd winograd = winograd_of(sizes, 4, {}, 1, simd());
  const std::int64_t tiles = 4;
  EXPECT_EQ(winograd.flops(), tiles * (2 * 36 * 16 * 32 + 12 * 19 * 16 + 10 * 13 * 32));
}

RowWinograd row_winograd_of(const Sizes& sizes, const Epilogue& epilogue, int threads,
                            const SimdKernels& kernels) {
  return RowWinograd(grid_of(sizes), sizes.images, sizes.channels, sizes.outputs, epilogue, threads,
                     kernels);
}

TEST(OwnConvolution, WinogradAlongRowsEqualsTheDefiningSum) {
  std::vector<Sizes> all(std::begin(kThreeByThree), std::end(kThreeByThree));
  all.push_back({.images = 2, .channels = 300, .outputs = 33, .height = 4, .width = 5});
  for (const Sizes& sizes : all) {
    for (const int threads : {1, 2, 3}) {
      expect_defining_sums(sizes, 6e-6, [&](auto& epilogue, auto& kernels) {
        return row_winograd_of(sizes, epilogue, threads, kernels);
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

// Windows of all kinds.
std::vector<Sizes> all_windows() {
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
  return all;
}

TEST(OwnConvolution, PatchesTimesWeightsEqualTheDefiningSum) {
  for (const Sizes& sizes : all_windows()) {
    for (const int threads : {1, 2}) {
      expect_defining_sums(sizes, 6e-6, [&](auto& epilogue, auto& kernels) {
        return PatchProduct(grid_of(sizes), sizes.images, sizes.channels, sizes.outputs, epilogue,
                            threads, kernels);
      });
    }
  }
}

TEST(OwnConvolution, PatchesTimesPanelsOfFloatsEqualTheDefiningSum) {
  for (const Sizes& sizes : all_windows()) {
    for (const int threads : {1, 3}) {
      expect_defining_sums(sizes, 6e-6, [&](auto& epilogue, auto& kernels) {
        return PanelConvolution({.grid = grid_of(sizes),
                                 .images = static_cast<std::size_t>(sizes.images),
                                 .channels = static_cast<std::size_t>(sizes.channels),
                                 .outputs = static_cast<std::size_t>(sizes.outputs)},
                                finish_like(epilogue), threads, kernels);
      });
    }
  }
}

TEST(OwnConvolution, DepthwiseEqualsTheDefiningSum) {
  for (const std::int64_t channels : {3, 16, 37}) {
    for (const std::int64_t kernel : {2, 3, 5}) {
      for (const std::int64_t stride : {1, 2}) {
        for (const std::int64_t dilation : {1, 2}) {
          const Sizes sizes{.images = 2,
                            .channels = channels,
                            .outputs = channels,
                            .height = 9,
                            .width = 14,
                            .kernel = kernel,
                            .stride = stride,
                            .pad_begin = kernel / 2,
                            .pad_end = 1,
                            .dilation = dilation,
                            .is_depthwise = true};
          expect_defining_sums(sizes, 1e-6, [&](auto& epilogue, auto& kernels) {
            return Depthwise(grid_of(sizes), sizes.images, sizes.channels, std::nullopt, epilogue,
                             2, kernels);
          });
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::cpu
