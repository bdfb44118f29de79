// Convolutions and matrix products by tiles against their defining sums. Every test runs on the
// emulated instructions and, where the processor has them, on its own; `TilesOfThisMachine` tells.
#include "execute/cpu/kernels/tile_convolution.h"

#include <gtest/gtest.h>

#include "base/instruction_set.h"
#include "execute/emulated.h"
#include "execute/packed_setting.h"

namespace assay::cpu {
namespace {

using namespace packed;

std::vector<const TileKernels*> all_tiles() {
  std::vector<const TileKernels*> all = {&tiles_emulated()};
  if (tiles() != nullptr) all.push_back(tiles());
#if defined(__aarch64__)
  // Processors of matrix products have dot products too.
  if (tiles() == &tiles_i8mm()) all.push_back(&tiles_dot());
#endif
  return all;
}

TEST(TileConvolution, RandomLayersEqualTheDefiningSum) {
  for (const TileKernels* kernels : all_tiles()) {
    for (unsigned seed = 0; seed < 300; ++seed) {
      const Setting setting = random_setting(seed);
      if (setting.layer.type == TileType::BF16 && !kernels->multiplies_bf16) continue;
      SCOPED_TRACE(std::string(kernels->name) + ", seed " + std::to_string(seed) + ": " +
                   described(setting));
      expect_defining_sums(setting, TileConvolution(setting.layer, setting.threads, *kernels));
    }
  }
}

// As networks have them: a first layer, a layer in the middle, a downsampling and a last one.
TEST(TileConvolution, LayersOfAResidualNetworkEqualTheDefiningSum) {
  for (const TileKernels* kernels : all_tiles()) {
    for (const TileLayer& layer :
         {image_layer(40, 7, 2, 3, 3, 64), image_layer(14, 3, 1, 1, 128, 40),
          image_layer(14, 3, 2, 1, 64, 48), image_layer(14, 1, 2, 0, 64, 32),
          image_layer(7, 1, 1, 0, 512, 33), image_layer(60, 1, 1, 0, 260, 40),
          image_layer(28, 3, 1, 1, 32, 33)}) {
      for (const int threads : {1, 2, 3})
        expect_defining_sums(plain_setting(layer), TileConvolution(layer, threads, *kernels));
    }
  }
}

TEST(TileConvolution, ExtremeNumbersDoNotSaturate) {
  for (const TileKernels* kernels : all_tiles()) {
    TileLayer layer = tile_matrix_product(17, 1000, 3, TileType::U8);
    Setting setting = plain_setting(layer);
    std::fill(setting.source.begin(), setting.source.end(), std::byte{255});
    std::fill(setting.weights8.begin(), setting.weights8.end(), std::int8_t{-128});
    const auto result = run(setting, TileConvolution(layer, 1, *kernels));
    EXPECT_EQ(number_at(result, TileNumber::S32, 0), -255.0 * 128 * 1000);
    EXPECT_EQ(number_at(result, TileNumber::S32, 50), -255.0 * 128 * 1000);
  }
}

TEST(TileConvolution, WorksOnTheImageItselfWhereThereIsNeitherPaddingNorStride) {
  const auto workspace = [](const TileLayer& layer) {
    return TileConvolution(layer, 1, tiles_emulated()).workspace_bytes();
  };
  EXPECT_EQ(workspace(image_layer(14, 1, 1, 0, 100, 10)), 0u);
  EXPECT_EQ(workspace(image_layer(14, 3, 1, 0, 64, 10)), 0u);
  EXPECT_GE(workspace(image_layer(14, 3, 1, 1, 64, 10)), 16u * 16 * 64);
  EXPECT_GE(workspace(image_layer(14, 1, 2, 0, 64, 10)), 7u * 7 * 64);
  EXPECT_LT(workspace(image_layer(14, 1, 2, 0, 64, 10)), 14u * 14 * 64);
}

TEST(TileConvolution, CountsThePaddingOfTheDepth) {
  // A row of 7 · 3 bytes is loaded as 24; 7 rows of the window, 20 · 20 results.
  const TileConvolution first(image_layer(40, 7, 2, 3, 3, 64), 1, tiles_emulated());
  EXPECT_EQ(first.flops(), 2 * 20 * 20 * 64 * 7 * 24);
  // 100 bytes are two tiles.
  const TileConvolution product(tile_matrix_product(5, 100, 3, TileType::S8), 1, tiles_emulated());
  EXPECT_EQ(product.flops(), 2 * 5 * 3 * 128);
}

TEST(TilesOfThisMachine, AreUsedByTheseTestsIfThereAreAny) {
  const bool has_hardware = has_tiles() || may_use_dot_products();
  EXPECT_EQ(tiles() != nullptr, has_hardware);
  std::string names;
  for (const TileKernels* kernels : all_tiles()) names += std::string(" ") + kernels->name;
  RecordProperty("tiles", names);
  std::printf("tile tests run on:%s\n", names.c_str());
  EXPECT_EQ(all_tiles().size() > 1, has_hardware);
}

}  // namespace
}  // namespace assay::cpu
