// Winograd's algorithm in 16-bit integers against the sums that define a convolution: equal for
// 8-bit numbers, and for bf16 closer than a convolution whose filters are rounded to bf16.
#include "execute/cpu/kernels/winograd16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "packed_setting.h"

namespace assay::cpu {
namespace {

using namespace packed;
using kernels::WindowAxis;

class Winograd16Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (winograd16() == nullptr) GTEST_SKIP() << "the processor has no AVX-512 VNNI";
  }
};

WindowAxis three_taps(Draw& draw) {
  WindowAxis axis{.input = draw.between(1, 14), .kernel = 3};
  axis.pad_begin = draw.between(axis.input < 3 ? 1 : 0, 3);
  axis.pad_end = draw.between(axis.input < 2 ? 1 : 0, 3);
  axis.output = axis.input + axis.pad_begin + axis.pad_end - 2;
  return axis;
}

Setting random_winograd(unsigned seed) {
  Draw draw(seed);
  Setting setting;
  setting.layer.type = draw.coin() ? TileType::U8 : TileType::S8;
  setting.layer.grid.rank = 2;
  setting.layer.grid.axes[1] = three_taps(draw);
  setting.layer.grid.axes[2] = three_taps(draw);
  setting.layer.images = draw.between(1, 3);
  setting.layer.channels = draw.coin() ? draw.between(1, 20) : draw.between(20, 70);
  setting.layer.outputs = draw.between(1, 70);
  draw_ending(draw, setting);
  draw_operands(draw, setting);
  return setting;
}

Winograd16 planned(const Setting& setting) {
  return Winograd16(setting.layer, setting.threads, *winograd16());
}

TEST_F(Winograd16Test, RandomLayersOf8BitNumbersEqualTheDefiningSum) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Setting setting = random_winograd(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + described(setting));
    ASSERT_TRUE(Winograd16::fits(setting.layer, 1));
    ASSERT_TRUE(Winograd16::is_exact(setting.layer, setting.weights8.data()));
    expect_defining_sums(setting, planned(setting));
  }
}

TEST_F(Winograd16Test, LayersOfAResidualNetworkEqualTheDefiningSumOnAnyNumberOfThreads) {
  for (TileLayer layer : {image_layer(56, 3, 1, 1, 64, 64), image_layer(28, 3, 1, 1, 32, 40),
                          image_layer(7, 3, 1, 1, 100, 33)}) {
    for (const int threads : {1, 2, 5}) {
      Setting setting = plain_setting(layer);
      setting.threads = threads;
      expect_defining_sums(setting, planned(setting));
    }
  }
}

// Sums between the stages overflow, results do not.
TEST_F(Winograd16Test, ExtremeNumbersAreExactUpToTheLimit) {
  TileLayer layer = image_layer(9, 3, 1, 1, 114, 3);
  for (const bool is_signed : {false, true}) {
    layer.type = is_signed ? TileType::S8 : TileType::U8;
    const int low = is_signed ? -128 : 0;
    for (const int zero_point : {low, low + 255}) {
      layer.source_zero_point = zero_point;
      Setting setting = plain_setting(layer);
      std::fill(setting.weights8.begin(), setting.weights8.end(), std::int8_t{-128});
      ASSERT_TRUE(Winograd16::is_exact(layer, setting.weights8.data()));
      for (const int pixel : {low, low + 255}) {
        std::fill(setting.source.begin(), setting.source.end(), static_cast<std::byte>(pixel));
        expect_defining_sums(setting, planned(setting));
      }
    }
  }
}

// Pixels and taps at both extremes, so that every stage meets its largest numbers.
TEST_F(Winograd16Test, ExtremePatternsAreExact) {
  TileLayer layer = image_layer(12, 3, 1, 1, 34, 8);
  layer.source_zero_point = 128;
  Setting setting = plain_setting(layer);
  for (unsigned seed = 0; seed < 20; ++seed) {
    Draw draw(seed);
    for (std::byte& byte : setting.source) byte = draw.coin() ? std::byte{255} : std::byte{0};
    for (std::int8_t& weight : setting.weights8) weight = draw.coin() ? 127 : -128;
    expect_defining_sums(setting, planned(setting));
  }
}

TEST_F(Winograd16Test, RefusesWeightsWhoseResultsMightNotFit) {
  TileLayer layer = image_layer(9, 3, 1, 1, 115, 2);
  std::vector<std::int8_t> weights(2 * 115 * 9, std::int8_t{127});
  // 115 · 9 · 127 · 255 < 2²⁵ < 115 · 9 · 128 · 255
  EXPECT_TRUE(Winograd16::is_exact(layer, weights.data()));
  std::fill(weights.begin() + 115 * 9, weights.end(), std::int8_t{-128});
  EXPECT_FALSE(Winograd16::is_exact(layer, weights.data()));
  layer.source_zero_point = 100;  // numbers from -100 to 155
  EXPECT_TRUE(Winograd16::is_exact(layer, weights.data()));
}

TEST_F(Winograd16Test, HasNoFormForOtherWindows) {
  EXPECT_TRUE(Winograd16::fits(image_layer(9, 3, 1, 1, 8, 8), 1));
  EXPECT_FALSE(Winograd16::fits(image_layer(9, 3, 1, 1, 8, 8), 2));
  EXPECT_FALSE(Winograd16::fits(image_layer(9, 3, 2, 1, 8, 8), 1));
  EXPECT_FALSE(Winograd16::fits(image_layer(9, 5, 1, 1, 8, 8), 1));
  EXPECT_FALSE(Winograd16::fits(tile_matrix_product(9, 8, 8, TileType::U8), 1));
}

TEST_F(Winograd16Test, CountsWhatItMultiplies) {
  // 2 · 2 tiles of 36 products for each of 32 · 64 pairs, and the transforms.
  const Winograd16 own(image_layer(7, 3, 1, 1, 32, 64), 1, *winograd16());
  EXPECT_EQ(own.flops(), 4 * (2 * 36 * 32 * 64 + 12 * 19 * 32 + 10 * 13 * 64));
}

}  // namespace
}  // namespace assay::cpu
