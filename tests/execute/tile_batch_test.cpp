// Products of two activations by tiles against their defining sums, on emulated instructions and,
// where the processor has them, on its own.
#include "execute/cpu/kernels/tile_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "execute/emulated.h"

namespace assay::cpu {
namespace {

std::vector<const TileKernels*> kernels_at_hand() {
  std::vector<const TileKernels*> all = {&tiles_emulated()};
  if (tiles() != nullptr) all.push_back(tiles());
  return all;
}

struct BatchCase {
  TileBatchLayer layer;
  bool right_is_transposed = false;  // in memory
  std::int64_t gap = 0;              // elements between rows
};

BatchCase random_case(std::mt19937& random) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  BatchCase drawn;
  drawn.layer.type = static_cast<TileType>(between(0, 2));
  drawn.layer.m = between(1, 70);
  drawn.layer.n = between(1, 70);
  do drawn.layer.k = between(1, 210);
  while (!TileBatch::fits(drawn.layer.type, drawn.layer.k));
  drawn.right_is_transposed = between(0, 1) == 1;
  drawn.gap = between(0, 5);
  if (drawn.layer.type == TileType::BF16) {
    drawn.layer.scale = 0.125f;
    drawn.layer.epilogue.result = between(0, 1) == 1 ? TileNumber::BF16 : TileNumber::F32;
    return drawn;
  }
  drawn.layer.right_is_unsigned = between(0, 1) == 1;
  drawn.layer.left_zero_point = static_cast<std::int32_t>(between(0, 1) * between(-20, 20));
  drawn.layer.right_zero_point = static_cast<std::int32_t>(between(0, 1) * between(-20, 20));
  if (between(0, 1) == 1) {
    drawn.layer.scale = 0x1p-10f;  // products with it are exact
    drawn.layer.epilogue = {.result = TileNumber::U8,
                            .low_after = static_cast<float>(between(-100, -50)),
                            .high_after = 155,
                            .zero_point = 100};
  }
  return drawn;
}

double bf16_number(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

// Numbers as bytes; of bf16, small whole ones, so that sums are exact.
struct Numbers {
  TileType type;
  bool is_signed = false;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint16_t> halves;

  Numbers(TileType of, bool with_sign, std::int64_t count, std::mt19937& random)
      : type(of), is_signed(with_sign) {
    for (std::int64_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(random()));
      const auto whole = static_cast<float>(static_cast<int>(random() % 17) - 8);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &whole, sizeof(bits));
      halves.push_back(static_cast<std::uint16_t>(bits >> 16));
    }
  }
  const void* data() const {
    return type == TileType::BF16 ? static_cast<const void*>(halves.data()) : bytes.data();
  }
  double at(std::int64_t i) const {
    const auto place = static_cast<std::size_t>(i);
    if (type == TileType::BF16) return bf16_number(halves[place]);
    return is_signed ? static_cast<double>(static_cast<std::int8_t>(bytes[place]))
                     : static_cast<double>(bytes[place]);
  }
};

void expect_product(const BatchCase& drawn, const TileKernels& kernels, std::mt19937& random) {
  const auto& [type, m, k, n, right_is_unsigned, left_zero, right_zero, scale, epilogue] =
      drawn.layer;
  const std::int64_t left_stride = k + drawn.gap;
  const std::int64_t right_stride = (drawn.right_is_transposed ? k : n) + drawn.gap;
  const Numbers left(type, type == TileType::S8, m * left_stride, random);
  const Numbers right(type, !right_is_unsigned, std::max(k, n) * right_stride, random);
  const TileBatch batch(drawn.layer, kernels);
  std::vector<std::byte> workspace(batch.workspace_bytes(), std::byte{0xff});
  const std::int64_t result_stride = n + drawn.gap;
  std::vector<std::byte> result(static_cast<std::size_t>(m * result_stride * 4), std::byte{0x77});
  batch.run({.left = left.data(),
             .left_stride = left_stride,
             .right = right.data(),
             .right_row_stride = drawn.right_is_transposed ? 1 : right_stride,
             .right_column_stride = drawn.right_is_transposed ? right_stride : 1,
             .result = result.data(),
             .result_stride = result_stride,
             .workspace = workspace.data()},
            m);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t at =
            drawn.right_is_transposed ? column * right_stride + i : i * right_stride + column;
        sum += (left.at(row * left_stride + i) - left_zero) * (right.at(at) - right_zero);
      }
      const auto place = static_cast<std::size_t>(row * result_stride + column);
      if (epilogue.result == TileNumber::S32) {
        std::int32_t got = 0;
        std::memcpy(&got, result.data() + 4 * place, sizeof(got));
        ASSERT_EQ(got, sum) << row << ", " << column;
      } else if (epilogue.result == TileNumber::F32) {
        float got = 0;
        std::memcpy(&got, result.data() + 4 * place, sizeof(got));
        ASSERT_EQ(got, sum * static_cast<double>(scale)) << row << ", " << column;
      } else if (epilogue.result == TileNumber::U8) {
        const double bounded =
            std::clamp(sum * static_cast<double>(scale), static_cast<double>(epilogue.low_after),
                       static_cast<double>(epilogue.high_after));
        ASSERT_EQ(static_cast<int>(result[place]), std::nearbyint(bounded) + epilogue.zero_point)
            << row << ", " << column;
      } else {
        std::uint16_t got = 0;
        std::memcpy(&got, result.data() + 2 * place, sizeof(got));
        const double expected = sum * static_cast<double>(scale);
        ASSERT_NEAR(bf16_number(got), expected, std::abs(expected) * 0x1p-8)
            << row << ", " << column;
      }
    }
  }
}

TEST(TileBatch, RandomProductsEqualTheDefiningSum) {
  for (const TileKernels* kernels : kernels_at_hand()) {
    std::mt19937 random(5);
    for (int i = 0; i < 150; ++i) {
      const BatchCase drawn = random_case(random);
      if (drawn.layer.type == TileType::BF16 && !kernels->multiplies_bf16) continue;
      SCOPED_TRACE(std::string(kernels->name) + ", case " + std::to_string(i) + ": type " +
                   std::to_string(static_cast<int>(drawn.layer.type)) + ", " +
                   std::to_string(drawn.layer.m) + "x" + std::to_string(drawn.layer.k) + "x" +
                   std::to_string(drawn.layer.n));
      expect_product(drawn, *kernels, random);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(TileBatch, RefusesRowsThatAreNoWholeWords) {
  EXPECT_FALSE(TileBatch::fits(TileType::U8, 30));
  EXPECT_TRUE(TileBatch::fits(TileType::U8, 32));
  EXPECT_TRUE(TileBatch::fits(TileType::U8, 65));  // the last chunk overlaps the one before
  EXPECT_FALSE(TileBatch::fits(TileType::BF16, 3));
  EXPECT_TRUE(TileBatch::fits(TileType::BF16, 33));
}

}  // namespace
}  // namespace assay::cpu
