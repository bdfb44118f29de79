// Conv, ConvTranspose and their integer forms.
#include <cmath>
#include <limits>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

const Tensor kNine = real_tensor({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
const Tensor kDiagonal = real_tensor({1, 1, 2, 2}, {1, 0, 0, 1});

TEST(Convolution, SumsProductsOfEveryWindow) {
  const Tensor result = result_of({"Conv", {kNine, kDiagonal}});
  EXPECT_EQ(result.dims(), (Sizes{1, 1, 2, 2}));
  EXPECT_EQ(result.to_double(), (Numbers{1 + 5, 2 + 6, 4 + 8, 5 + 9}));
}

TEST(Convolution, PadsStridesAndBiasCount) {
  const Tensor bias = real_tensor({1}, {100});
  const Tensor result = result_of(
      {"Conv", {kNine, kDiagonal, bias}, {list("pads", {1, 1, 0, 0}), list("strides", {2, 2})}});
  // Windows start at row and column -1 and 1; the first sees nothing but its last tap.
  EXPECT_EQ(result.to_double(), (Numbers{100 + 1, 100 + 3, 100 + 7, 100 + 5 + 9}));
}

TEST(Convolution, DilationLeavesGaps) {
  const Tensor result = result_of({"Conv", {kNine, kDiagonal}, {list("dilations", {2, 2})}});
  EXPECT_EQ(result.to_double(), (Numbers{1 + 9}));
}

TEST(Convolution, SamePaddingPutsTheOddOneWhereItIsTold) {
  const Tensor line = real_tensor({1, 1, 3}, {1, 2, 3});
  const Tensor weight = real_tensor({1, 1, 2}, {10, 1});
  EXPECT_EQ(result_of({"Conv", {line, weight}, {text("auto_pad", "SAME_UPPER")}}).to_double(),
            (Numbers{12, 23, 30}));
  EXPECT_EQ(result_of({"Conv", {line, weight}, {text("auto_pad", "SAME_LOWER")}}).to_double(),
            (Numbers{1, 12, 23}));
  EXPECT_EQ(result_of({"Conv", {line, weight}, {text("auto_pad", "VALID")}}).to_double(),
            (Numbers{12, 23}));
}

TEST(Convolution, GroupsSeeTheirOwnChannelsOnly) {
  const Tensor pair = real_tensor({1, 2, 1}, {3, 5});
  const Tensor weight = real_tensor({4, 1, 1}, {1, 10, 1, 10});
  EXPECT_EQ(result_of({"Conv", {pair, weight}, {number("group", 2)}}).to_double(),
            (Numbers{3, 30, 5, 50}));
}

TEST(Convolution, ThreeSpatialAxes) {
  const Tensor cube = real_tensor({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor ones = real_tensor({1, 1, 2, 1, 1}, {1, 1});
  const Tensor result = result_of({"Conv", {cube, ones}});
  EXPECT_EQ(result.dims(), (Sizes{1, 1, 1, 2, 2}));
  EXPECT_EQ(result.to_double(), (Numbers{1 + 5, 2 + 6, 3 + 7, 4 + 8}));
}

TEST(Convolution, SumsMorePreciselyThanFloat) {
  // In float, 1e8 + 1 is 1e8: the sum would be 0.
  const Tensor line = real_tensor({1, 1, 3}, {1e8f, 1, -1e8f});
  const Tensor ones = real_tensor({1, 1, 3}, {1, 1, 1});
  EXPECT_EQ(result_of({"Conv", {line, ones}}).to_double(), (Numbers{1}));
}

TEST(Convolution, NotANumberTimesZeroIsNotANumber) {
  const Tensor line = real_tensor({1, 1, 1}, {std::numeric_limits<float>::infinity()});
  const Tensor zero = real_tensor({1, 1, 1}, {0});
  EXPECT_TRUE(std::isnan(result_of({"Conv", {line, zero}}).to_double().front()));
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  const auto conv = [](std::vector<Attribute> attributes, Tensor weight = kDiagonal) {
    return result_of({"Conv", {kNine, std::move(weight)}, std::move(attributes)});
  };
  EXPECT_THROW(conv({list("strides", {0, 1})}), Error);
  EXPECT_THROW(conv({list("strides", {1})}), Error);
  EXPECT_THROW(conv({list("dilations", {INT64_MAX, 1})}), Error);
  EXPECT_THROW(conv({list("pads", {INT64_MAX, INT64_MAX, 0, 0})}), Error);
  EXPECT_THROW(conv({list("pads", {-2, -2, 0, 0})}), Error);
  EXPECT_THROW(conv({list("kernel_shape", {3, 3})}), Error);
  EXPECT_THROW(conv({number("group", 0)}), Error);
  EXPECT_THROW(conv({number("group", 2)}), Error);
  EXPECT_THROW(conv({text("auto_pad", "BOTH")}), Error);
  EXPECT_THROW(conv({}, real_tensor({1, 1, 4, 4}, std::vector<float>(16))), Error);
  EXPECT_THROW(conv({}, real_tensor({1, 1, 2}, {1, 2})), Error);
  EXPECT_THROW(conv({}, long_tensor({1, 1, 1, 1}, {1})), Error);
  const Tensor two = real_tensor({2}, {1, 2});
  EXPECT_THROW(result_of({"Conv", {kNine, kDiagonal, two}}), Error);
}

TEST(TransposedConvolution, SpreadsTheKernel) {
  const Tensor line = real_tensor({1, 1, 2}, {1, 10});
  const Tensor weight = real_tensor({1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(result_of({"ConvTranspose", {line, weight}}).to_double(),
            (Numbers{1, 2 + 10, 3 + 20, 30}));
  EXPECT_EQ(result_of({"ConvTranspose", {line, weight}, {list("strides", {2})}}).to_double(),
            (Numbers{1, 2, 3 + 10, 20, 30}));
  EXPECT_EQ(result_of({"ConvTranspose", {line, weight}, {list("pads", {1, 1})}}).to_double(),
            (Numbers{2 + 10, 3 + 20}));
}

TEST(TransposedConvolution, OutputPaddingAndShapeSetTheSize) {
  const Tensor line = real_tensor({1, 1, 2}, {1, 10});
  const Tensor weight = real_tensor({1, 1, 3}, {1, 2, 3});
  const Case padded = {
      "ConvTranspose", {line, weight}, {list("strides", {2}), list("output_padding", {1})}};
  EXPECT_EQ(result_of(padded).to_double(), (Numbers{1, 2, 13, 20, 30, 0}));
  // 5 elements are covered and 4 wanted: without auto_pad the odd one goes at the begin.
  const Case shaped = {
      "ConvTranspose", {line, weight}, {list("strides", {2}), list("output_shape", {4})}};
  EXPECT_EQ(result_of(shaped).to_double(), (Numbers{2, 13, 20, 30}));
  const Case upper = {
      "ConvTranspose", {line, weight}, {list("strides", {2}), text("auto_pad", "SAME_UPPER")}};
  EXPECT_EQ(result_of(upper).to_double(), (Numbers{1, 2, 13, 20}));
}

TEST(TransposedConvolution, RefusesWhatDoesNotFit) {
  const Tensor line = real_tensor({1, 1, 2}, {1, 10});
  const Tensor weight = real_tensor({1, 1, 3}, {1, 2, 3});
  EXPECT_THROW(result_of({"ConvTranspose", {line, weight}, {list("pads", {3, 3})}}), Error);
  EXPECT_THROW(result_of({"ConvTranspose", {line, weight}, {list("output_shape", {-1})}}), Error);
  EXPECT_THROW(result_of({"ConvTranspose", {line, weight}, {number("group", 2)}}), Error);
  EXPECT_THROW(result_of({"ConvTranspose", {line, weight}, {number("group", 0)}}), Error);
}

TEST(IntegerConvolution, SubtractsZeroPointsBeforePadding) {
  const Tensor line = bytes_tensor({1, 1, 2}, {3, 4});
  const Tensor weight = bytes_tensor({1, 1, 2}, {1, 2});
  const Tensor result = result_of({"ConvInteger",
                                   {line, weight, bytes_tensor({}, {1}), bytes_tensor({}, {0})},
                                   {list("pads", {1, 0})}});
  EXPECT_EQ(result.type(), DataType::Int32);
  // The padding is zero after the zero point: (0 · 1 + 2 · 2), (2 · 1 + 3 · 2).
  EXPECT_EQ(result.to_int64(), (Sizes{4, 8}));
}

TEST(QuantizedConvolution, ScalesRoundsAndSaturates) {
  const Tensor scale = real_tensor({}, {0.5f});
  const Tensor zero = bytes_tensor({}, {0});
  const Tensor line = bytes_tensor({1, 1, 3}, {1, 2, 200});
  const Tensor weight = bytes_tensor({2, 1, 1}, {3, 3});
  const Tensor weight_scale = real_tensor({2}, {1, 2});
  const Tensor weight_zero = bytes_tensor({2}, {0, 1});
  const Tensor bias = whole_tensor<std::int32_t>(DataType::Int32, {2}, {1, 0});
  const Tensor result = result_of({"QLinearConv",
                                   {line, scale, zero, weight, weight_scale, weight_zero,
                                    real_tensor({}, {1}), bytes_tensor({}, {10}), bias}});
  // (x · 3 + 1) · 0.5 · 1 + 10: 2 and 3.5, which goes to the even 4; (x · 2) · 0.5 · 2 + 10.
  EXPECT_EQ(result.to_int64(), (Sizes{12, 14, 255, 12, 14, 255}));
}

}  // namespace
}  // namespace assay
