// Quantised operators: their shapes, and what is refused before anything runs.
#include <gmock/gmock.h>

#include <limits>

#include "infer_helpers.h"

namespace assay {
namespace {

using test::Ints;
using test::OneNode;
using testing::HasSubstr;

Tensor scale(std::vector<std::int64_t> dims, const std::vector<float>& numbers) {
  return Tensor::of_float(std::move(dims), numbers);
}
Tensor scale() {
  return scale({}, {0.5f});
}
Tensor zero_point(DataType type = DataType::UInt8, std::vector<std::int64_t> dims = {}) {
  const std::int64_t count =
      Tensor(type, dims, heap_storage(std::vector<std::byte>(64))).elements();
  const auto size = static_cast<std::size_t>(*byte_size(type, count));
  return Tensor(type, std::move(dims), heap_storage(std::vector<std::byte>(size)));
}

OneNode microsoft(const char* op) {
  return OneNode(op).domain("com.microsoft");
}

// QLinearConv of 1x2x5x5 by 4x2x3x3.
struct Convolution {
  DataType x_type = DataType::UInt8;
  Tensor x_scale = scale();
  Tensor x_zero = zero_point();
  Tensor w_scale = scale({4}, {1, 1, 1, 1});
  Tensor w_zero = zero_point(DataType::Int8, {4});
  Tensor y_scale = scale();
  Tensor y_zero = zero_point(DataType::Int8);

  OneNode node() const {
    OneNode one("QLinearConv");
    one.input({1, 2, 5, 5}, x_type).constant(x_scale).constant(x_zero);
    one.input({4, 2, 3, 3}, DataType::Int8).constant(w_scale).constant(w_zero);
    one.constant(y_scale).constant(y_zero);
    return one;
  }
};

TEST(QuantizedShapes, FollowTheFloatOps) {
  EXPECT_EQ(Convolution().node().text(), "int8[1x4x3x3]");
  const auto unary = [](const char* op) {
    OneNode one = microsoft(op);
    one.input({1, 6, 8, 4}, DataType::UInt8).constant(scale()).constant(zero_point());
    one.constant(scale()).constant(zero_point());
    return one;
  };
  EXPECT_EQ(unary("QLinearSigmoid").text(), "uint8[1x6x8x4]");
  EXPECT_EQ(unary("QLinearGlobalAveragePool").text(), "uint8[1x6x1x1]");
  const auto pool = [&](std::int64_t channels_last) {
    OneNode one = unary("QLinearAveragePool");
    one.attribute("kernel_shape", Ints{2, 2}).attribute("strides", Ints{2, 2});
    return one.attribute("channels_last", channels_last);
  };
  EXPECT_EQ(pool(0).text(), "uint8[1x6x4x2]");
  EXPECT_EQ(pool(1).text(), "uint8[1x3x4x4]");
}

TEST(QuantizedShapes, ConcatAddsUpItsAxis) {
  const auto concat = [](std::int64_t axis, Shape second) {
    OneNode one = microsoft("QLinearConcat");
    one.constant(scale()).constant(zero_point());
    one.input({1, 2, 3}, DataType::UInt8).constant(scale()).constant(zero_point());
    one.input(std::move(second), DataType::UInt8).constant(scale()).constant(zero_point());
    return one.attribute("axis", axis);
  };
  EXPECT_EQ(concat(1, {1, 5, 3}).text(), "uint8[1x7x3]");
  EXPECT_THAT(concat(2, {1, 5, 3}).error(), HasSubstr("parts differ"));
  EXPECT_THAT(concat(3, {1, 2, 3}).error(), HasSubstr("axis 3 is out of range"));
  EXPECT_THAT(concat(1, {1, 2}).error(), HasSubstr("3 and 2 axes"));
}

TEST(QuantizedShapes, GemmIsRealWithoutAResultScale) {
  const auto gemm = [] {
    OneNode one = microsoft("QGemm");
    one.input({6, 2}, DataType::UInt8).constant(scale()).constant(zero_point());
    one.input({3, 6}, DataType::Int8).constant(scale({3}, {1, 1, 1}));
    one.constant(zero_point(DataType::Int8, {3})).nothing();
    return one.attribute("transA", std::int64_t{1}).attribute("transB", std::int64_t{1});
  };
  EXPECT_EQ(gemm().text(), "float32[2x3]");
  EXPECT_EQ(gemm().constant(scale()).constant(zero_point()).text(), "uint8[2x3]");
  EXPECT_THAT(gemm().constant(scale()).error(), HasSubstr("only one of y_scale and y_zero_point"));
}

TEST(QuantizedShapes, RecurrentWeightsHaveTheirGatesLast) {
  const auto lstm = [](std::int64_t hidden) {
    OneNode one = microsoft("DynamicQuantizeLSTM");
    one.input({5, 1, 3}).input({1, 3, 16}, DataType::Int8);
    one.input({1, hidden, 16}, DataType::Int8);
    for (int i = 0; i < 5; ++i) one.nothing();
    for (int i = 0; i < 2; ++i)
      one.constant(scale({1}, {0.1f})).constant(zero_point(DataType::Int8, {1}));
    return one.attribute("hidden_size", std::int64_t{4});
  };
  EXPECT_EQ(lstm(4).text(), "float32[5x1x1x4]");
  EXPECT_THAT(lstm(5).error(), HasSubstr("hidden_size"));
}

TEST(QuantizedShapes, AttentionGivesAThirdOfItsProduct) {
  OneNode one = microsoft("QAttention");
  one.input({2, 5, 8}, DataType::UInt8).input({8, 24}, DataType::Int8).input({24});
  one.constant(scale()).constant(scale()).attribute("num_heads", std::int64_t{2});
  EXPECT_EQ(one.text(), "float32[2x5x8]");
}

TEST(BadScales, AreNamedWithTheirNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [number, text] : std::vector<std::pair<float, const char*>>{
           {0.0f, "is 0 at 2"},
           {-1.0f, "is -1 at 2"},
           {infinity, "is inf at 2"},
           {std::numeric_limits<float>::quiet_NaN(), "is nan at 2"}}) {
    Convolution bad;
    bad.w_scale = scale({4}, {1, 1, number, 1});
    EXPECT_THAT(bad.node().error(), HasSubstr("QLinearConv 'node': scale 'c"));
    EXPECT_THAT(bad.node().error(), HasSubstr(text));
    EXPECT_THAT(bad.node().error(), HasSubstr("finite and greater than 0: quantise"));
  }
  Convolution bad;
  bad.y_scale = scale({}, {0});
  EXPECT_THAT(bad.node().error(), HasSubstr("is 0 at 0"));
  EXPECT_THAT(OneNode("QuantizeLinear").input({4}).constant(scale({}, {-2})).error(),
              HasSubstr("is -2 at 0"));
}

TEST(BadScales, AreFoundInLongVectors) {
  std::vector<float> numbers(1000, 1.0f);
  numbers[999] = 0;
  OneNode one("DequantizeLinear");
  one.input({1000, 2}, DataType::Int8).constant(scale({1000}, numbers));
  EXPECT_THAT(one.attribute("axis", std::int64_t{0}).error(), HasSubstr("is 0 at 999"));
}

TEST(BadScales, MayBeNegativeInBlocksOfFourBits) {
  OneNode one("DequantizeLinear", 21);
  one.input({4}, DataType::Int4).constant(scale({2}, {-1, 1}));
  EXPECT_EQ(one.attribute("axis", std::int64_t{0}).attribute("block_size", std::int64_t{2}).text(),
            "float32[4]");
}

TEST(ScaleVectors, HaveOneNumberAChannel) {
  Convolution bad;
  bad.w_scale = scale({3}, {1, 1, 1});
  EXPECT_THAT(bad.node().error(), HasSubstr("of shape [3] does not fit; one number would, or one "
                                            "for each of 4"));
  bad = Convolution();
  bad.w_zero = zero_point(DataType::Int8, {5});
  EXPECT_THAT(bad.node().error(), HasSubstr("of shape [5] does not fit"));
  bad = Convolution();
  bad.x_scale = scale({2}, {1, 1});
  EXPECT_THAT(bad.node().error(), HasSubstr("one number for the whole tensor would"));
}

TEST(ScaleVectors, HaveOneNumberAColumn) {
  const auto product = [](Tensor b_scale) {
    OneNode one = microsoft("MatMulIntegerToFloat");
    one.input({2, 3}, DataType::UInt8).input({3, 4}, DataType::Int8).constant(scale());
    return one.constant(std::move(b_scale));
  };
  EXPECT_EQ(product(scale({4}, {1, 1, 1, 1})).text(), "float32[2x4]");
  EXPECT_EQ(product(scale({1, 4}, {1, 1, 1, 1})).text(), "float32[2x4]");
  EXPECT_THAT(product(scale({3}, {1, 1, 1})).error(), HasSubstr("one for each of 4"));
}

TEST(ScaleVectors, FollowTheAxis) {
  const auto quantizer = [](std::int64_t axis, std::int64_t count) {
    OneNode one("QuantizeLinear");
    one.input({2, 3}).constant(scale({count}, std::vector<float>(count, 1.0f)));
    return one.attribute("axis", axis);
  };
  EXPECT_EQ(quantizer(1, 3).text(), "uint8[2x3]");
  EXPECT_EQ(quantizer(-2, 2).text(), "uint8[2x3]");
  EXPECT_THAT(quantizer(1, 2).error(), HasSubstr("one for each of 3 along axis 1"));
  EXPECT_THAT(quantizer(2, 3).error(), HasSubstr("axis 2 is out of range for rank 2"));
}

TEST(ScaleBlocks, HaveOneNumberEach) {
  const auto dequantizer = [](std::int64_t block, Shape numbers) {
    OneNode one("DequantizeLinear", 21);
    one.input({2, 5}, DataType::Int4).input(std::move(numbers));
    return one.attribute("axis", std::int64_t{1}).attribute("block_size", block);
  };
  EXPECT_EQ(dequantizer(2, {2, 3}).text(), "float32[2x5]");
  EXPECT_THAT(dequantizer(2, {2, 2}).error(),
              HasSubstr("blocks of 2 along axis 1 of [2x5] need [2x3]"));
  EXPECT_THAT(dequantizer(2, {3}).error(), HasSubstr("need [2x3]"));
  EXPECT_THAT(dequantizer(-2, {2, 3}).error(), HasSubstr("block_size -2 is negative"));
}

TEST(ScaleBlocks, OfPackedWeightsFillBytes) {
  const auto product = [](std::int64_t bits, std::int64_t block, Shape weights, Shape scales) {
    OneNode one = microsoft("MatMulNBits");
    one.input({1, 40}).input(std::move(weights), DataType::UInt8).input(std::move(scales));
    one.attribute("N", std::int64_t{3}).attribute("K", std::int64_t{40});
    return one.attribute("bits", bits).attribute("block_size", block);
  };
  EXPECT_EQ(product(4, 16, {3, 3, 8}, {9}).text(), "float32[1x3]");
  EXPECT_THAT(product(4, 16, {3, 2, 8}, {9}).error(), HasSubstr("need 72 numbers"));
  EXPECT_THAT(product(4, 16, {3, 3, 8}, {6}).error(), HasSubstr("need 9 numbers"));
  EXPECT_THAT(product(4, 5, {3, 3, 8}, {9}).error(), HasSubstr("does not fill whole bytes"));
  EXPECT_THAT(product(3, 16, {3, 3, 8}, {9}).error(), HasSubstr("weights of 3 bits are not known"));
  EXPECT_THAT(product(4, 0, {3, 3, 8}, {9}).error(), HasSubstr("'block_size' is missing"));
}

TEST(ZeroPoints, HaveTheTypeOfTheirTensor) {
  Convolution bad;
  bad.x_zero = zero_point(DataType::Int8);
  EXPECT_THAT(bad.node().error(), HasSubstr("they must be of one type"));
  OneNode concat = microsoft("QLinearConcat");
  concat.constant(scale()).constant(zero_point()).attribute("axis", std::int64_t{0});
  concat.input({2}, DataType::UInt8).constant(scale()).constant(zero_point(DataType::Int8));
  EXPECT_THAT(concat.error(), HasSubstr("is int8, its tensor 'x' is uint8; give both one type"));
  OneNode asked("QuantizeLinear", 21);
  asked.input({2}).constant(scale()).constant(zero_point());
  EXPECT_THAT(asked.attribute("output_dtype", static_cast<std::int64_t>(DataType::Int8)).error(),
              HasSubstr("output_dtype is int8"));
}

TEST(ZeroPoints, OfWideIntegersAreZero) {
  OneNode one("DequantizeLinear");
  const std::vector<std::int32_t> three = {3};
  one.input({2}, DataType::Int32).constant(scale());
  one.constant(Tensor::of<std::int32_t>(DataType::Int32, {}, three));
  EXPECT_THAT(one.error(), HasSubstr("is 3; that of int32 must be 0"));
}

TEST(QuantizedTypes, AreEightBitsWhereTheOpTakesNoOthers) {
  Convolution bad;
  bad.x_type = DataType::Float32;
  EXPECT_EQ(bad.node().error(), "QLinearConv 'node': input 'x' is float32, takes int8|uint8");
  EXPECT_THAT(
      OneNode("MatMulInteger").input({2, 2}, DataType::Int32).input({2, 2}, DataType::Int8).error(),
      HasSubstr("input 'A' is int32, takes int8|uint8"));
  EXPECT_THAT(OneNode("QuantizeLinear")
                  .input({2})
                  .constant(scale())
                  .constant(zero_point(DataType::Int64))
                  .error(),
              HasSubstr("is int64, takes"));
  EXPECT_THAT(OneNode("DequantizeLinear").input({2}, DataType::Int64).constant(scale()).error(),
              HasSubstr("is int64, takes"));
}

}  // namespace
}  // namespace assay
