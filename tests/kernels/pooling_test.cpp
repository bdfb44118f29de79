// Pooling over windows, planes and regions.
#include <cmath>
#include <limits>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

const Tensor kImage = real_tensor({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
const Attribute kTwo = list("kernel_shape", {2, 2});

TEST(MaxPool, GivesTheGreatestAndWhereItWas) {
  const auto outputs = outputs_of({"MaxPool", {kImage}, {kTwo}, 12, 2});
  EXPECT_EQ(outputs[0].to_double(), (Numbers{5, 6, 8, 9}));
  EXPECT_EQ(outputs[1].to_int64(), (Sizes{4, 5, 7, 8}));
  const auto by_columns =
      outputs_of({"MaxPool", {kImage}, {kTwo, number("storage_order", 1)}, 12, 2});
  EXPECT_EQ(by_columns[1].to_int64(), (Sizes{4, 7, 5, 8}));
}

TEST(MaxPool, CeilModeAddsWindowsThatStartInside) {
  const Case rounded = {
      "MaxPool", {kImage}, {kTwo, list("strides", {2, 2}), number("ceil_mode", 1)}};
  EXPECT_EQ(result_of(rounded).to_double(), (Numbers{5, 6, 8, 9}));
  // With one of padding at the end, a third window would start in it.
  const Case padded = {
      "MaxPool",
      {kImage},
      {kTwo, list("strides", {3, 3}), list("pads", {0, 0, 1, 1}), number("ceil_mode", 1)}};
  EXPECT_EQ(result_of(padded).dims(), (Sizes{1, 1, 1, 1}));
}

TEST(MaxPool, PropagatesNotANumberAndTakesBytes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& values : {std::vector<float>{nan, 1}, {1, nan}}) {
    const Case test = {"MaxPool", {real_tensor({1, 1, 2}, values)}, {list("kernel_shape", {2})}};
    EXPECT_TRUE(std::isnan(result_of(test).to_double().front()));
  }
  const Tensor low = whole_tensor<std::int8_t>(DataType::Int8, {1, 1, 2}, {-128, -127});
  const Case bytes = {"MaxPool", {low}, {list("kernel_shape", {2}), list("pads", {1, 1})}};
  EXPECT_EQ(result_of(bytes).to_int64(), (Sizes{-128, -127, -127}));
}

TEST(AveragePool, PaddingCountsOnlyIfAsked) {
  const std::vector<Attribute> padded = {kTwo, list("strides", {2, 2}), list("pads", {1, 1, 0, 0})};
  EXPECT_EQ(result_of({"AveragePool", {kImage}, padded}).to_double(),
            (Numbers{1, (2 + 3) / 2.0, (4 + 7) / 2.0, (5 + 6 + 8 + 9) / 4.0}));
  auto counted = padded;
  counted.push_back(number("count_include_pad", 1));
  EXPECT_EQ(result_of({"AveragePool", {kImage}, counted}).to_double(),
            (Numbers{1 / 4.0, (2 + 3) / 4.0, (4 + 7) / 4.0, (5 + 6 + 8 + 9) / 4.0}));
}

TEST(AveragePool, WhatCeilModeAddsIsNoPadding) {
  const Tensor line = real_tensor({1, 1, 3}, {1, 2, 6});
  const Case test = {"AveragePool",
                     {line},
                     {list("kernel_shape", {2}), list("strides", {2}), number("ceil_mode", 1),
                      number("count_include_pad", 1)}};
  EXPECT_EQ(result_of(test).to_double(), (Numbers{1.5, 6}));
}

TEST(AveragePool, DilatedTapsCount) {
  const Tensor line = real_tensor({1, 1, 4}, {1, 2, 3, 4});
  const Case test = {
      "AveragePool", {line}, {list("kernel_shape", {2}), list("dilations", {2})}, 19};
  EXPECT_EQ(result_of(test).to_double(), (Numbers{2, 3}));
}

TEST(LpPool, IsTheNormOfAWindow) {
  const Tensor line = real_tensor({1, 1, 2}, {-3, 4});
  EXPECT_EQ(result_of({"LpPool", {line}, {list("kernel_shape", {2})}}).to_double(), (Numbers{5}));
  const Case sum = {"LpPool", {line}, {list("kernel_shape", {2}), number("p", 1)}};
  EXPECT_EQ(result_of(sum).to_double(), (Numbers{7}));
  const Case none = {"LpPool", {line}, {list("kernel_shape", {2}), number("p", 0)}};
  EXPECT_THROW(result_of(none), Error);
}

TEST(GlobalPools, FoldWholePlanes) {
  const Tensor planes = real_tensor({1, 2, 2}, {3, 4, -6, 8});
  EXPECT_EQ(result_of({"GlobalAveragePool", {planes}}).to_double(), (Numbers{3.5, 1}));
  EXPECT_EQ(result_of({"GlobalMaxPool", {planes}}).to_double(), (Numbers{4, 8}));
  EXPECT_EQ(result_of({"GlobalLpPool", {planes}}).to_double(), (Numbers{5, 10}));
  EXPECT_EQ(result_of({"GlobalMaxPool", {planes}}).dims(), (Sizes{1, 2, 1}));
  EXPECT_THROW(result_of({"GlobalMaxPool", {real_tensor({1, 2, 0}, {})}}), Error);
}

TEST(MaxUnpool, PutsMaximaBack) {
  const Tensor maxima = real_tensor({1, 1, 1, 2}, {5, 6});
  const std::vector<Attribute> settings = {kTwo, list("strides", {2, 2})};
  const Case test = {"MaxUnpool", {maxima, long_tensor({1, 1, 1, 2}, {1, 6})}, settings};
  EXPECT_EQ(result_of(test).to_double(), (Numbers{0, 5, 0, 0, 0, 0, 6, 0}));
  // In a wider output, row 1 and column 2 stay row 1 and column 2.
  const Case wider = {"MaxUnpool",
                      {maxima, long_tensor({1, 1, 1, 2}, {1, 6}), long_tensor({4}, {1, 1, 2, 5})},
                      settings};
  EXPECT_EQ(result_of(wider).to_double(), (Numbers{0, 5, 0, 0, 0, 0, 0, 6, 0, 0}));
  const Case outside = {"MaxUnpool", {maxima, long_tensor({1, 1, 1, 2}, {1, 8})}, settings};
  EXPECT_THROW(result_of(outside), Error);
}

TEST(Pools, RefuseWhatDoesNotFit) {
  EXPECT_THROW(result_of({"MaxPool", {kImage}}), Error);
  EXPECT_THROW(result_of({"MaxPool", {kImage}, {list("kernel_shape", {4, 4})}}), Error);
  EXPECT_THROW(result_of({"MaxPool", {kImage}, {list("kernel_shape", {0, 1})}}), Error);
  EXPECT_THROW(result_of({"AveragePool", {real_tensor({1, 1}, {1})}, {kTwo}}), Error);
}

TEST(RoiAlign, AveragesBetweenPixels) {
  const Tensor boxes = real_tensor({1, 4}, {0, 0, 2, 2});
  const Tensor batch = long_tensor({1}, {0});
  // Without the half pixel, the one sample is at (1, 1); with it, between four pixels.
  EXPECT_EQ(result_of({"RoiAlign", {kImage, boxes, batch}, {number("sampling_ratio", 1)}, 10})
                .to_double(),
            (Numbers{5}));
  EXPECT_EQ(result_of({"RoiAlign", {kImage, boxes, batch}, {number("sampling_ratio", 1)}, 16})
                .to_double(),
            (Numbers{(1 + 2 + 4 + 5) / 4.0}));
  EXPECT_THROW(result_of({"RoiAlign", {kImage, boxes, long_tensor({1}, {1})}}), Error);
  const Tensor vast = real_tensor({1, 4}, {0, 0, 1e30f, 1});
  EXPECT_THROW(result_of({"RoiAlign", {kImage, vast, batch}}), Error);
}

TEST(MaxRoiPool, TakesTheGreatestOfEveryBin) {
  const Tensor boxes = real_tensor({1, 5}, {0, 0, 0, 2, 1});
  const Case test = {"MaxRoiPool", {kImage, boxes}, {list("pooled_shape", {1, 2})}};
  // Three columns in two bins overlap: columns 0 to 1 and 1 to 2, of rows 0 and 1.
  EXPECT_EQ(result_of(test).to_double(), (Numbers{5, 6}));
  const Tensor other = real_tensor({1, 5}, {1, 0, 0, 2, 1});
  EXPECT_THROW(result_of({"MaxRoiPool", {kImage, other}, {list("pooled_shape", {1, 2})}}), Error);
}

}  // namespace
}  // namespace assay
