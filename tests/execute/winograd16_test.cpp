// Winograd's algorithm in 16-bit integers against the sums that define a convolution: equal for
// 8-bit numbers, and for bf16 closer than a convolution whose filters are rounded to bf16.
#include "execute/cpu/kernels/winograd16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
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
  draw_epilogue(draw, setting);
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
  for (TileLayer layer : {image_layer(34, 3, 1, 1, 32, 32), image_layer(28, 3, 1, 1, 20, 40),
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
  TileLayer in_bf16 = image_layer(9, 3, 1, 1, 512, 8);
  in_bf16.type = TileType::BF16;
  in_bf16.epilogue.result = TileNumber::BF16;
  EXPECT_TRUE(Winograd16::fits(in_bf16, 1));
  in_bf16.channels = 513;
  EXPECT_FALSE(Winograd16::fits(in_bf16, 1));
}

TEST_F(Winograd16Test, CountsWhatItMultiplies) {
  // 2 · 2 tiles of 36 products for each of 32 · 64 pairs, and the transforms.
  const Winograd16 own(image_layer(7, 3, 1, 1, 32, 64), 1, *winograd16());
  EXPECT_EQ(own.flops(), 4 * (2 * 36 * 32 * 64 + 12 * 19 * 32 + 10 * 13 * 64));
}

// --- bf16

float rounded_to_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

void put_bf16(std::vector<std::byte>& to, std::size_t i, float value) {
  const std::uint16_t half = as_bf16(rounded_to_bf16(value));
  std::memcpy(to.data() + 2 * i, &half, sizeof(half));
}

Setting bf16_setting(TileLayer layer, const std::function<float(Draw&, std::size_t)>& pixel) {
  layer.type = TileType::BF16;
  layer.epilogue = {.result = TileNumber::BF16};
  Setting setting = plain_setting(layer);
  setting.bias16.assign(static_cast<std::size_t>(layer.outputs), 0);
  Draw draw(3);
  setting.source.resize(2 * setting.source.size());
  for (std::size_t i = 0; i < setting.source.size() / 2; ++i)
    put_bf16(setting.source, i, pixel(draw, i % static_cast<std::size_t>(layer.channels)));
  setting.weights16.clear();
  for (std::size_t i = 0; i < setting.weights8.size(); ++i)
    setting.weights16.push_back(draw.real(-1, 1) * draw.real(0, 1) * draw.real(0, 1));
  return setting;
}

struct Deviation {
  double error = 0;  // root of the mean square, of the root of the mean square of the results
  double largest = 0;
};

Deviation deviation(const std::vector<double>& exact, const std::vector<double>& given) {
  double squares = 0, errors = 0, largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    squares += exact[i] * exact[i];
    errors += (given[i] - exact[i]) * (given[i] - exact[i]);
    largest = std::max(largest, std::abs(given[i] - exact[i]));
  }
  return {std::sqrt(errors / squares),
          largest / std::sqrt(squares / static_cast<double>(exact.size()))};
}

std::vector<double> sums_of(const Setting& setting) {
  std::vector<double> sums(setting.results());
  for_each_sum(setting, [&](std::size_t at, std::size_t, double sum) { sums[at] = sum; });
  return sums;
}

std::vector<double> results_of(const Setting& setting) {
  const auto bytes = run(setting, planned(setting));
  std::vector<double> results(setting.results());
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = number_at(bytes, TileNumber::BF16, i);
  return results;
}

// What a convolution of bf16 numbers gives: filters are rounded, and the results.
std::vector<double> results_of_bf16(Setting setting) {
  for (float& weight : setting.weights16) weight = rounded_to_bf16(weight);
  auto results = sums_of(setting);
  for (double& result : results)
    result = static_cast<double>(rounded_to_bf16(static_cast<float>(result)));
  return results;
}

using Pixel = std::function<float(Draw&, std::size_t)>;

// Evenly spread; half of them zero; a few channels much larger; most of an image tiny.
const Pixel kPixels[] = {[](Draw& draw, std::size_t) { return draw.real(-1, 1); },
                         [](Draw& draw, std::size_t) { return std::max(0.0f, draw.real(-1, 1)); },
                         [](Draw& draw, std::size_t channel) {
                           return (channel % 16 == 3 ? 30.0f : 1.0f) *
                                  std::max(0.0f, draw.real(-1, 1));
                         },
                         [](Draw& draw, std::size_t) { return std::pow(draw.real(0, 1), 8.0f); }};

TEST_F(Winograd16Test, ImagesInBf16AreNoLessExactThanByFiltersInBf16) {
  for (const Pixel& pixel : kPixels) {
    for (const std::int64_t channels : {3, 64, 256}) {
      const Setting setting = bf16_setting(image_layer(10, 3, 1, 1, channels, 20), pixel);
      const auto exact = sums_of(setting);
      const Deviation ours = deviation(exact, results_of(setting));
      const Deviation usual = deviation(exact, results_of_bf16(setting));
      std::printf("%lld channels: %.5f, largest %.4f; filters in bf16 %.5f, %.4f\n",
                  static_cast<long long>(channels), ours.error, ours.largest, usual.error,
                  usual.largest);
      EXPECT_LE(ours.error, usual.error) << channels;
      EXPECT_LE(ours.largest, 2 * usual.largest) << channels;
    }
  }
}

TEST_F(Winograd16Test, ImagesInBf16OfAnyMagnitudeAreAsExact) {
  for (const float magnitude : {1e-25f, 1e-15f, 1e15f, 1e30f}) {
    const Setting setting =
        bf16_setting(image_layer(6, 3, 1, 1, 40, 8),
                     [&](Draw& draw, std::size_t) { return magnitude * draw.real(-1, 1); });
    EXPECT_LE(deviation(sums_of(setting), results_of(setting)).error, 0.003) << magnitude;
  }
}

TEST_F(Winograd16Test, ImagesOfZerosGiveTheBias) {
  Setting setting =
      bf16_setting(image_layer(6, 3, 1, 1, 40, 8), [](Draw&, std::size_t) { return 0.0f; });
  for (std::size_t i = 0; i < 8; ++i) setting.bias16[i] = static_cast<float>(i);
  const auto results = results_of(setting);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i], static_cast<double>(i % 8));
}

TEST_F(Winograd16Test, NotANumberReachesTheResults) {
  Setting setting = bf16_setting(image_layer(6, 3, 1, 1, 40, 8),
                                 [](Draw& draw, std::size_t) { return draw.real(-1, 1); });
  put_bf16(setting.source, (3 * 6 + 3) * 40, std::nanf(""));
  EXPECT_TRUE(std::isnan(results_of(setting)[(3 * 6 + 3) * 8]));
}

TEST_F(Winograd16Test, RandomLayersInBf16AreCloseToTheDefiningSum) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Setting setting = random_winograd(seed);
    Draw draw(seed);
    setting.layer.type = TileType::BF16;
    setting.layer.source_zero_point = 0;
    setting.layer.epilogue = {};
    draw_epilogue(draw, setting);
    setting.layer.epilogue.result = TileNumber::BF16;
    if (setting.layer.epilogue.addend_type == TileNumber::F32)
      setting.layer.epilogue.addend_type = TileNumber::None;
    draw_operands(draw, setting);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + described(setting));
    ASSERT_TRUE(Winograd16::fits(setting.layer, 1));
    const auto results = results_of(setting);
    // Of numbers around 5, nine for each channel.
    const double typical = 25 * 3 * std::sqrt(static_cast<double>(setting.layer.channels));
    for_each_sum(setting, [&](std::size_t at, std::size_t output, double sum) {
      const double expected = finished(setting, at, output, sum);
      ASSERT_NEAR(results[at], expected, std::abs(expected) * 0x1p-8 + 0.01 * typical);
    });
  }
}

}  // namespace
}  // namespace assay::cpu
