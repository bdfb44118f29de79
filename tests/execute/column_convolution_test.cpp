// Convolutions over images one pixel wide, which run as if the images were one pixel high.
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "compare_engines.h"

namespace assay {
namespace {

struct Column {
  std::int64_t height = 40;
  std::int64_t kernel = 5;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t group = 1;
  std::vector<std::int64_t> pads = {0, 0, 0, 0};

  Graph graph() const {
    GraphBuilder builder("net");
    const ValueId x = builder.input("x", DataType::Float32, Shape{2, 8, height, 1});
    const ValueId weight = builder.weight("w", {16, 8 / group, kernel, 1}, 0.3);
    const ValueId bias = builder.weight("b", {16}, 0.3);
    const ValueId y = builder.node("Conv", "conv", {x, weight, bias},
                                   {{"kernel_shape", std::vector<std::int64_t>{kernel, 1}},
                                    {"strides", std::vector<std::int64_t>{stride, 1}},
                                    {"dilations", std::vector<std::int64_t>{dilation, 1}},
                                    {"group", group},
                                    {"pads", pads}});
    builder.output(builder.node("Relu", "relu", {y}), "y");
    return builder.finish();
  }
};

TEST(ColumnConvolution, AgreesInEveryForm) {
  for (const Column& column :
       {Column{}, Column{.pads = {2, 0, 1, 0}}, Column{.stride = 2, .pads = {1, 0, 1, 0}},
        Column{.dilation = 3, .pads = {6, 0, 6, 0}}, Column{.group = 8}, Column{.height = 7}}) {
    const Difference difference = compare_engines(column.graph());
    EXPECT_TRUE(difference.same_shapes);
    EXPECT_LE(difference.largest, 1e-5);
  }
}

}  // namespace
}  // namespace assay
