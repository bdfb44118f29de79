// QuantizeLinear and its kin, and the narrow types they write.
#include <cmath>
#include <limits>

#include "kernels/float8.h"
#include "kernels/kernel_runner.h"

namespace assay {

using namespace assay::kernels;

namespace {

TEST(QuantizeLinear, RoundsHalvesToEvenAndSaturates) {
  const Tensor input = real_tensor({5}, {1, 3, -9, 1e9f, -1e9f});
  const Case test = {"QuantizeLinear", {input, real_tensor({}, {2}), bytes_tensor({}, {10})}};
  // 0.5, 1.5, -4.5 go to 0, 2, -4.
  EXPECT_EQ(result_of(test).to_int64(), (Sizes{10, 12, 6, 255, 0}));
}

TEST(QuantizeLinear, HasScalesByAxisAndByBlock) {
  const Tensor input = real_tensor({2, 3}, {4, 4, 4, 8, 8, 8});
  const Tensor rows = real_tensor({2}, {1, 2});
  EXPECT_EQ(result_of({"QuantizeLinear", {input, rows}, {number("axis", 0)}}).to_int64(),
            (Sizes{4, 4, 4, 4, 4, 4}));
  const Tensor blocks = real_tensor({2, 2}, {1, 2, 4, 8});
  const Case blocked = {
      "QuantizeLinear", {input, blocks}, {number("axis", 1), number("block_size", 2)}, 21};
  EXPECT_EQ(result_of(blocked).to_int64(), (Sizes{4, 4, 2, 2, 2, 1}));
  EXPECT_THROW(result_of({"QuantizeLinear", {input, rows}, {number("axis", 1)}}), Error);
  EXPECT_THROW(
      result_of({"QuantizeLinear", {input, blocks}, {number("axis", 1), number("block_size", 1)}}),
      Error);
}

TEST(QuantizeLinear, PacksFourBitsTwoToAByte) {
  const Tensor input = real_tensor({3}, {-9, 3, 20});
  const auto type = static_cast<std::int64_t>(DataType::Int4);
  const Case test = {
      "QuantizeLinear", {input, real_tensor({}, {1})}, {number("output_dtype", type)}, 21};
  const Tensor result = result_of(test);
  EXPECT_EQ(result.type(), DataType::Int4);
  EXPECT_EQ(result.to_int64(), (Sizes{-8, 3, 7}));
  EXPECT_EQ(result_of({"DequantizeLinear", {result, real_tensor({}, {0.5f})}, {}, 21}).to_double(),
            (Numbers{-4, 1.5, 3.5}));
}

TEST(QuantizeLinear, WritesFloatsOfEightBits) {
  const Tensor input = real_tensor({3}, {1, 1000, -0.25f});
  const Tensor zero = whole_tensor<std::uint8_t>(DataType::Float8E4M3FN, {}, {0});
  const Tensor one = real_tensor({}, {1});
  const Tensor result = result_of({"QuantizeLinear", {input, one, zero}, {}, 19});
  EXPECT_EQ(result_of({"DequantizeLinear", {result, one}, {}, 19}).to_double(),
            (Numbers{1, 448, -0.25}));
  const Case open = {"QuantizeLinear", {input, one, zero}, {number("saturate", 0)}, 19};
  EXPECT_TRUE(
      std::isnan(result_of({"DequantizeLinear", {result_of(open), one}, {}, 19}).to_double()[1]));
}

TEST(DequantizeLinear, SubtractsTheZeroPoint) {
  const Tensor input = bytes_tensor({2}, {0, 255});
  const Tensor scale = real_tensor({}, {0.5f});
  EXPECT_EQ(result_of({"DequantizeLinear", {input, scale, bytes_tensor({}, {128})}}).to_double(),
            (Numbers{-64, 63.5}));
  const Tensor wide = whole_tensor<std::int32_t>(DataType::Int32, {1}, {-6});
  EXPECT_EQ(result_of({"DequantizeLinear", {wide, scale}}).to_double(), (Numbers{-3}));
  EXPECT_THROW(result_of({"DequantizeLinear", {wide, scale, bytes_tensor({}, {1})}}), Error);
}

TEST(DynamicQuantizeLinear, FindsARangeThatHoldsZero) {
  const auto outputs =
      outputs_of({"DynamicQuantizeLinear", {real_tensor({2}, {51, 204})}, {}, 11, 3});
  EXPECT_EQ(outputs[1].to_double(), (Numbers{static_cast<double>(204.0f / 255)}));
  EXPECT_EQ(outputs[2].to_int64(), (Sizes{0}));
  EXPECT_EQ(outputs[0].to_int64(), (Sizes{64, 255}));  // 51 / 0.8 = 63.75
  const auto zeros = outputs_of({"DynamicQuantizeLinear", {real_tensor({1}, {0})}, {}, 11, 3});
  EXPECT_EQ(zeros[0].to_int64(), (Sizes{0}));
}

TEST(Float8, EveryCodeReadsBackAsItself) {
  for (const DataType type : {DataType::Float8E4M3FN, DataType::Float8E4M3FNUZ,
                              DataType::Float8E5M2, DataType::Float8E5M2FNUZ}) {
    for (int code = 0; code < 256; ++code) {
      const float number = float8_to_float(type, static_cast<std::uint8_t>(code));
      if (std::isnan(number)) continue;
      EXPECT_EQ(float_to_float8(type, number, false), code) << name(type);
    }
  }
}

TEST(Float8, KnowsItsLimits) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float8_to_float(DataType::Float8E4M3FN, 0x7e), 448);
  EXPECT_EQ(float8_to_float(DataType::Float8E4M3FNUZ, 0x7f), 240);
  EXPECT_EQ(float8_to_float(DataType::Float8E5M2, 0x7b), 57344);
  EXPECT_EQ(float8_to_float(DataType::Float8E5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(float8_to_float(DataType::Float8E4M3FN, 0x01), std::ldexp(1.0f, -9));
  EXPECT_EQ(float_to_float8(DataType::Float8E5M2, infinity, false), 0x7c);
  EXPECT_EQ(float_to_float8(DataType::Float8E5M2, infinity, true), 0x7b);
  EXPECT_EQ(float_to_float8(DataType::Float8E4M3FN, 465, false), 0x7f);  // beyond 464: not 448
  EXPECT_EQ(float_to_float8(DataType::Float8E4M3FN, 463, false), 0x7e);
  EXPECT_EQ(float_to_float8(DataType::Float8E4M3FNUZ, -0.0f, true), 0x00);
}

TEST(Float8, HalvesGoToTheEvenCode) {
  // Between 1 (0x38) and 1.125 (0x39), and between 1.125 and 1.25 (0x3a).
  EXPECT_EQ(float_to_float8(DataType::Float8E4M3FN, 1.0625f, true), 0x38);
  EXPECT_EQ(float_to_float8(DataType::Float8E4M3FN, 1.1875f, true), 0x3a);
}

}  // namespace
}  // namespace assay
