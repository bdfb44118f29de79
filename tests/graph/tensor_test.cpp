#include "assay/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "assay/error.h"
#include "graph/half.h"
#include "graph/seeded.h"

namespace assay {

using namespace assay::graph;

namespace {

TEST(Tensor, RefusesAStorageThatIsTooSmall) {
  EXPECT_THROW(Tensor(DataType::Float32, {3}, heap_storage(std::vector<std::byte>(11))), Error);
  EXPECT_THROW(Tensor(DataType::Float32, {1}, heap_storage(std::vector<std::byte>(4)), 1), Error);
}

TEST(Tensor, RefusesDimensionsThatOverflow) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(Tensor(DataType::Int8, {huge, 2}, heap_storage({})), Error);
  EXPECT_THROW(Tensor(DataType::Int8, {-1}, heap_storage({})), Error);
}

TEST(Tensor, GivesItsElementsInTheTypeTheyAreStoredIn) {
  const Tensor halves =
      Tensor::of<std::uint16_t>(DataType::Float16, {1}, std::vector<std::uint16_t>{0x3c00});
  EXPECT_EQ(halves.to_vector<std::uint16_t>(), std::vector<std::uint16_t>{0x3c00});
  const Tensor flags = Tensor::of<std::uint8_t>(DataType::Bool, {1}, std::vector<std::uint8_t>{1});
  EXPECT_EQ(flags.to_vector<std::uint8_t>(), std::vector<std::uint8_t>{1});
  EXPECT_EQ(Tensor::of_float({2}, {1, 2}).to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Tensor, RefusesToGiveItsElementsInAnotherType) {
  const Tensor floats = Tensor::of_float({2}, {1, 2});
  try {
    floats.to_vector<double>();
    FAIL() << "16 bytes were read from 8";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the tensor holds float32, not float64");
  }
  EXPECT_THROW(floats.to_vector<std::int32_t>(), Error);
  EXPECT_THROW(floats.to_vector<std::uint16_t>(), Error);
  EXPECT_THROW(Tensor({1}, {std::string("text")}).to_vector<std::uint8_t>(), Error);
}

TEST(Tensor, AZeroDimensionMeansNoElements) {
  const Tensor tensor(DataType::Float32, {0, 5}, heap_storage({}));
  EXPECT_EQ(tensor.elements(), 0);
  EXPECT_TRUE(tensor.bytes().empty());
}

TEST(Tensor, FourBitTypesPackTwoToAByte) {
  const Tensor tensor(DataType::Int4, {3}, heap_storage({std::byte{0xf1}, std::byte{0x08}}));
  EXPECT_EQ(tensor.byte_size(), 2u);
  EXPECT_EQ(tensor.to_int64(), (std::vector<std::int64_t>{1, -1, -8}));
}

TEST(Tensor, FloatsOutsideTheIntegerRangeAreClamped) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor tensor = Tensor::of_float({3}, {infinity, -infinity, 2.9f});
  EXPECT_EQ(tensor.to_int64(),
            (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                       std::numeric_limits<std::int64_t>::min(), 2}));
}

TEST(Tensor, RowsAreAViewOfTheFirstDimension) {
  const Tensor tensor = Tensor::of_float({3, 2}, {0, 1, 2, 3, 4, 5});
  const Tensor rows = tensor.rows(1, 2);
  EXPECT_EQ(rows.dims(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(rows.bytes().data(), tensor.bytes().data() + 2 * sizeof(float));
  EXPECT_EQ(tensor.rows(3, 0).elements(), 0);
  EXPECT_THROW(tensor.rows(2, 2), Error);
  EXPECT_THROW(tensor.rows(-1, 1), Error);
  EXPECT_THROW(Tensor::of_float({}, {1}).rows(0, 1), Error);
}

TEST(Tensor, GeneratedBytesAreMadeAgainAfterARelease) {
  int made = 0;
  const Tensor tensor(DataType::Float32, {2, 2},
                      generated_storage(16, [&](std::span<std::byte> bytes) {
                        ++made;
                        const std::vector<float> values = {1, 2, 3, 4};
                        std::memcpy(bytes.data(), values.data(), bytes.size());
                      }));
  EXPECT_EQ(made, 0);
  const auto before = tensor.bytes();
  tensor.rows(0, 1).release();  // a part alone is kept
  EXPECT_EQ(tensor.bytes().data(), before.data());
  tensor.release();
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(made, 2);
  tensor.keep();
  const auto kept = tensor.bytes();
  tensor.release();
  EXPECT_EQ(tensor.bytes().data(), kept.data());
  EXPECT_EQ(made, 2);
}

TEST(Tensor, GeneratedWeightsDependOnSeedAndNameOnly) {
  const auto values = [](std::uint64_t seed, const char* name) {
    return seeded_uniform(seed, name, {64}, 0.5).to_vector<float>();
  };
  EXPECT_EQ(values(1, "w"), values(1, "w"));
  EXPECT_NE(values(1, "w"), values(2, "w"));
  EXPECT_NE(values(1, "w"), values(1, "v"));
  for (const float value : values(1, "w")) EXPECT_LE(std::abs(value), 0.5f);
}

TEST(Half, EveryHalfIsUnchangedByConversionToFloatAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool is_nan = (bits & 0x7c00u) == 0x7c00u && (bits & 0x3ffu) != 0;
    if (is_nan) continue;
    EXPECT_EQ(float_to_half(half_to_float(half)), half) << bits;
  }
}

TEST(Half, RoundsToNearestEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);  // a tie goes to the even mantissa
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_bfloat16(1.0f), 0x3f80);
}

}  // namespace
}  // namespace assay
