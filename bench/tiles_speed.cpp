// How fast products and convolutions by tile instructions are on one thread, after their answer is
// checked. Built by bench/tiles together with the tests of tiles.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>

#include "base/instruction_set.h"
#include "execute/cpu/kernels/tile_convolution.h"
#include "machine/peaks/peak_kernel.h"

namespace assay::cpu {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best of tries that together take about half a second.
double best_seconds(const auto& work) {
  double best = seconds_of(work);
  for (double total = 0; total < 0.5;) {
    const double time = seconds_of(work);
    best = std::min(best, time);
    total += time;
  }
  return best;
}

TileLayer image_layer(std::int64_t size, std::int64_t kernel, std::int64_t channels,
                      std::int64_t outputs, TileType type) {
  TileLayer layer{
      .grid = {}, .channels = channels, .outputs = outputs, .type = type, .epilogue = {}};
  layer.grid.rank = 2;
  for (const std::size_t axis : {1u, 2u}) {
    layer.grid.axes[axis] = {.input = size,
                             .output = size,
                             .kernel = kernel,
                             .pad_begin = kernel / 2,
                             .pad_end = kernel / 2};
  }
  return layer;
}

// Ones everywhere: a result far from the border is the depth.
void measure(const char* name, TileLayer layer) {
  const TileKernels* kernels = tiles();
  const bool is_bf16 = layer.type == TileType::BF16;
  layer.epilogue.result = is_bf16 ? TileNumber::BF16 : TileNumber::U8;
  const auto& [deep, down, across] = layer.grid.axes;
  const std::int64_t depth = layer.channels * down.kernel * across.kernel;
  if (!is_bf16) layer.epilogue.low_after = 0, layer.epilogue.high_after = 255;
  const TileConvolution convolution(layer, 1, *kernels);
  const auto pixels = static_cast<std::size_t>(down.input * across.input);
  const auto results = static_cast<std::size_t>(down.output * across.output * layer.outputs);
  std::vector<std::uint16_t> source(pixels * static_cast<std::size_t>(layer.channels),
                                    is_bf16 ? 0x3f80 : 0x0101);
  std::vector<std::int8_t> ones(static_cast<std::size_t>(depth * layer.outputs), 1);
  std::vector<float> real_ones(ones.size(), 1);
  std::vector<float> scales(static_cast<std::size_t>(layer.outputs),
                            100.0f / static_cast<float>(depth));
  std::vector<std::byte> packed(convolution.weight_bytes());
  TileParameters parameters{.weights = ones.data(), .scales = scales.data()};
  if (is_bf16) parameters = {.weights = real_ones.data()};
  convolution.pack(parameters, packed.data());
  std::vector<std::byte> workspace(convolution.workspace_bytes());
  std::vector<std::uint16_t> result(results);
  const auto run = [&] {
    convolution.run(TileOperands{.source = source.data(),
                                 .weights = packed.data(),
                                 .result = result.data(),
                                 .workspace = workspace.data()});
  };
  const double seconds = best_seconds(run);
  const std::size_t middle = static_cast<std::size_t>(
      (down.output / 2 * across.output + across.output / 2) * layer.outputs);
  if (is_bf16) {
    const std::uint32_t bits = std::uint32_t{result[middle]} << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    EXPECT_NEAR(value, static_cast<double>(depth), static_cast<double>(depth) / 128);
  } else {
    EXPECT_EQ(reinterpret_cast<const std::uint8_t*>(result.data())[middle], 100);
  }
  const double operations = 2.0 * static_cast<double>(results) * static_cast<double>(depth);
  std::printf("%-4s %-28s %8.1f us %8.0f GOP/s\n", is_bf16 ? "bf16" : "int8", name, seconds * 1e6,
              operations / seconds * 1e-9);
}

TEST(TileSpeed, OfOneThread) {
  if (tiles() == nullptr) GTEST_SKIP() << "no tile instructions here";
  for (const machine::PeakKernel* kernel : {&machine::peak_int8_amx(), &machine::peak_bf16_amx()}) {
    constexpr std::int64_t kRounds = 200000;
    double sum = 0;
    const double seconds = best_seconds([&] { sum = kernel->run(kRounds); });
    EXPECT_EQ(sum, kernel->sum_after(kRounds));
    std::printf("%-4s %-28s %20.0f GOP/s\n", std::string(kernel->precision).c_str(), "peak",
                static_cast<double>(kRounds * kernel->operations_a_round) / seconds * 1e-9);
  }
  for (const TileType type : {TileType::U8, TileType::BF16}) {
    measure("product 1024x1024x1024", tile_matrix_product(1024, 1024, 1024, type));
    measure("product 3136x576x64", tile_matrix_product(3136, 576, 64, type));
    measure("conv 3x3 56x56x64->64", image_layer(56, 3, 64, 64, type));
    measure("conv 3x3 14x14x256->256", image_layer(14, 3, 256, 256, type));
    measure("conv 3x3 7x7x512->512", image_layer(7, 3, 512, 512, type));
    measure("conv 1x1 56x56x64->256", image_layer(56, 1, 64, 256, type));
    measure("conv 1x1 14x14x1024->256", image_layer(14, 1, 1024, 256, type));
  }
}

}  // namespace
}  // namespace assay::cpu
