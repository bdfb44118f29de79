// Shape rules, family by family. The expected shapes are worked out by hand.
#include "infer_helpers.h"

namespace assay {
namespace {

using test::Ints;
using test::OneNode;

TEST(ConvolutionRules, OutputSizeIsRoomDividedByStridePlusOne) {
  // (224 + 2·3 - 7) / 2 + 1 = 112
  OneNode conv("Conv");
  conv.input({1, 3, 224, 224})
      .input({64, 3, 7, 7})
      .attribute("strides", Ints{2, 2})
      .attribute("pads", Ints{3, 3, 3, 3});
  EXPECT_EQ(conv.shape(), "1x64x112x112");
}

TEST(ConvolutionRules, DilationWidensTheWindow) {
  // The window reaches (3 - 1)·2 + 1 = 5: 10 - 5 + 1 = 6.
  EXPECT_EQ(
      OneNode("Conv").input({1, 1, 10}).input({4, 1, 3}).attribute("dilations", Ints{2}).shape(),
      "1x4x6");
}

TEST(ConvolutionRules, SamePaddingDividesTheInputRoundingUp) {
  OneNode conv("Conv");
  conv.input({1, 3, 7, 7})
      .input({8, 3, 3, 3})
      .attribute("strides", Ints{2, 2})
      .attribute("auto_pad", std::string("SAME_UPPER"));
  EXPECT_EQ(conv.shape(), "1x8x4x4");
}

TEST(ConvolutionRules, UnknownDimensionsFlowThrough) {
  EXPECT_EQ(OneNode("Conv").input({Dim::symbol("batch"), 3, Dim(), 8}).input({8, 3, 3, 3}).shape(),
            "batchx8x?x6");
}

TEST(ConvolutionRules, WrongChannelsAreNamedWithBothNumbers) {
  const std::string error = OneNode("Conv").input({1, 64, 8, 8}).input({8, 128, 3, 3}).error();
  EXPECT_EQ(error, "Conv 'node': input has 64 channels, weight expects 128");
}

TEST(ConvolutionRules, GroupsMultiplyTheWeightsChannels) {
  EXPECT_EQ(OneNode("Conv")
                .input({1, 8, 5, 5})
                .input({8, 1, 3, 3})
                .attribute("group", std::int64_t{8})
                .shape(),
            "1x8x3x3");
}

TEST(ConvolutionRules, HostileAttributesAreRefused) {
  const auto with = [](const char* name, AttributeValue value) {
    return OneNode("Conv")
        .input({1, 1, 8, 8})
        .input({1, 1, 3, 3})
        .attribute(name, std::move(value))
        .error();
  };
  EXPECT_NE(with("strides", Ints{0, 1}), "");
  EXPECT_NE(with("strides", Ints{-1, 1}), "");
  EXPECT_NE(with("strides", Ints{1}), "");
  EXPECT_NE(with("dilations", Ints{INT64_MAX, 1}), "");
  EXPECT_NE(with("pads", Ints{INT64_MAX, 0, INT64_MAX, 0}), "");
  EXPECT_NE(with("pads", Ints{INT64_MIN, 0, -1, 0}), "");
  EXPECT_NE(with("group", std::int64_t{0}), "");
  EXPECT_NE(with("group", INT64_MAX), "");
  EXPECT_NE(with("kernel_shape", Ints{3}), "");
  EXPECT_NE(with("kernel_shape", Ints{5, 3}), "");
  EXPECT_NE(with("auto_pad", std::string("SIDEWAYS")), "");
}

TEST(ConvolutionRules, KernelLargerThanThePaddedInputIsRefused) {
  EXPECT_NE(OneNode("Conv").input({1, 1, 2, 2}).input({1, 1, 3, 3}).error(), "");
}

TEST(ConvolutionRules, TransposedConvolutionUndoesTheSize) {
  // (4 - 1)·2 + 3 - 2·1 + 1 = 8
  OneNode conv("ConvTranspose");
  conv.input({1, 16, 4, 4})
      .input({16, 8, 3, 3})
      .attribute("strides", Ints{2, 2})
      .attribute("pads", Ints{1, 1, 1, 1});
  conv.attribute("output_padding", Ints{1, 1});
  EXPECT_EQ(conv.shape(), "1x8x8x8");
}

TEST(PoolingRules, CeilModeDropsAWindowThatStartsInThePadding) {
  const auto pool = [](std::int64_t size, std::int64_t pad) {
    OneNode node("MaxPool");
    node.input({1, 1, size}).attribute("kernel_shape", Ints{2}).attribute("strides", Ints{2});
    return node.attribute("ceil_mode", std::int64_t{1}).attribute("pads", Ints{pad, pad}).shape();
  };
  EXPECT_EQ(pool(5, 0), "1x1x3");  // ceil(3/2) + 1 = 3
  // ceil((5 + 2 - 2) / 2) + 1 = 4 windows, but the fourth would start at 6 = 5 + 1: 3 are left.
  EXPECT_EQ(pool(5, 1), "1x1x3");
}

TEST(PoolingRules, MaxPoolIndicesAreIntegersOfTheSameShape) {
  EXPECT_EQ(OneNode("MaxPool").input({1, 2, 8, 8}).attribute("kernel_shape", Ints{2, 2}).text(1, 2),
            "int64[1x2x7x7]");
}

TEST(MatMulRules, BatchAxesBroadcast) {
  EXPECT_EQ(OneNode("MatMul").input({2, 1, 3, 4}).input({5, 4, 6}).shape(), "2x5x3x6");
  EXPECT_EQ(OneNode("MatMul").input({4}).input({4, 6}).shape(), "6");
  EXPECT_EQ(OneNode("MatMul").input({4}).input({4}).shape(), "scalar");
  EXPECT_NE(OneNode("MatMul").input({3, 4}).input({5, 6}).error(), "");
}

TEST(MatMulRules, GemmTransposes) {
  OneNode node("Gemm");
  node.input({4, 2})
      .input({3, 4})
      .attribute("transA", std::int64_t{1})
      .attribute("transB", std::int64_t{1});
  EXPECT_EQ(node.shape(), "2x3");
}

TEST(EinsumRules, LettersAndEllipsis) {
  const auto einsum = [](const char* equation, Shape a, Shape b) {
    return OneNode("Einsum")
        .input(std::move(a))
        .input(std::move(b))
        .attribute("equation", std::string(equation))
        .shape();
  };
  EXPECT_EQ(einsum("bij, bjk -> bik", {2, 3, 4}, {2, 4, 5}), "2x3x5");
  EXPECT_EQ(einsum("...ij,...jk", {7, 3, 4}, {4, 5}), "7x3x5");
  EXPECT_EQ(einsum("i,j->ji", {3}, {4}), "4x3");
}

TEST(ReductionRules, AxesComeFromAttributeOrInput) {
  EXPECT_EQ(OneNode("ReduceMean", 13).input({2, 3, 4}).attribute("axes", Ints{-1}).shape(),
            "2x3x1");
  EXPECT_EQ(OneNode("ReduceMean", 18)
                .input({2, 3, 4})
                .ints({1})
                .attribute("keepdims", std::int64_t{0})
                .shape(),
            "2x4");
  EXPECT_EQ(OneNode("ReduceSum").input({2, 3}).shape(), "1x1");
  EXPECT_EQ(OneNode("ReduceSum")
                .input({2, 3})
                .ints({})
                .attribute("noop_with_empty_axes", std::int64_t{1})
                .shape(),
            "2x3");
  EXPECT_NE(OneNode("ReduceSum").input({2, 3}).ints({2}).error(), "");
  EXPECT_NE(OneNode("ReduceSum").input({2, 3}).ints({1, -1}).error(), "");
}

TEST(ViewRules, ReshapeInfersAndCopiesDimensions) {
  EXPECT_EQ(OneNode("Reshape").input({2, 3, 4}).ints({0, -1}).shape(), "2x12");
  EXPECT_EQ(OneNode("Reshape").input({Dim::symbol("n"), 3, 4}).ints({0, -1}).shape(), "nx12");
  EXPECT_EQ(OneNode("Reshape").input({Dim::symbol("n"), 12}).ints({-1, 3, 4}).shape(), "nx3x4");
  EXPECT_NE(OneNode("Reshape").input({2, 3}).ints({4, -1}).error(), "");
  EXPECT_NE(OneNode("Reshape").input({2, 3}).ints({-1, -1}).error(), "");
  EXPECT_NE(OneNode("Reshape").input({2, 3}).ints({INT64_MAX, INT64_MAX}).error(), "");
}

TEST(ViewRules, SqueezeRefusesAnAxisThatIsNotOne) {
  EXPECT_EQ(OneNode("Squeeze").input({1, 3, 1}).ints({-1}).shape(), "1x3");
  EXPECT_EQ(OneNode("Squeeze", 11).input({1, 3, 1}).attribute("axes", Ints{0}).shape(), "3x1");
  EXPECT_NE(OneNode("Squeeze").input({1, 3}).ints({1}).error(), "");
}

TEST(ViewRules, AbsurdTilesAndExpansionsAreRefusedOrOnlyInferred) {
  EXPECT_NE(OneNode("Tile").input({1 << 20, 2}).ints({INT64_MAX, 1}).error(), "");
  EXPECT_EQ(OneNode("Expand").input({1}).ints({1LL << 40}).shape(), "1099511627776");
  EXPECT_EQ(OneNode("ConstantOfShape").ints({1LL << 40, 1LL << 40}).shape(),
            "1099511627776x1099511627776");
  EXPECT_NE(OneNode("ConstantOfShape").ints({-1}).error(), "");
}

TEST(SlicingRules, SliceCountsBothWays) {
  EXPECT_EQ(OneNode("Slice").input({10, 20}).ints({-3, 0}).ints({INT64_MAX, 5}).shape(), "3x5");
  EXPECT_EQ(OneNode("Slice").input({10}).ints({-1}).ints({INT64_MIN}).ints({0}).ints({-3}).shape(),
            "4");  // 9 6 3 0
  EXPECT_EQ(OneNode("Slice", 9)
                .input({10})
                .attribute("starts", Ints{2})
                .attribute("ends", Ints{4})
                .shape(),
            "2");
  EXPECT_NE(OneNode("Slice").input({10}).ints({0}).ints({5}).ints({0}).ints({0}).error(), "");
}

TEST(SlicingRules, SplitFollowsItsOpset) {
  EXPECT_EQ(OneNode("Split", 11).input({6, 2}).attribute("split", Ints{1, 5}).shape(1, 2), "5x2");
  EXPECT_EQ(
      OneNode("Split", 18).input({7, 2}).attribute("num_outputs", std::int64_t{3}).shape(2, 3),
      "1x2");
  EXPECT_NE(OneNode("Split", 13).input({7, 2}).ints({3, 3}).error(), "");
}

TEST(SlicingRules, PadsMayNameAxes) {
  EXPECT_EQ(OneNode("Pad", 10).input({2, 3}).attribute("pads", Ints{0, 1, 0, 2}).shape(), "2x6");
  EXPECT_EQ(OneNode("Pad", 18).input({2, 3}).ints({1, 2}).nothing().ints({-1}).shape(), "2x6");
  EXPECT_NE(OneNode("Pad", 13).input({2, 3}).ints({-3, 0, 0, 0}).error(), "");
}

TEST(GatherRules, IndicesReplaceTheAxis) {
  EXPECT_EQ(OneNode("Gather").input({100, 16}).input({2, 7}, DataType::Int64).shape(), "2x7x16");
  EXPECT_EQ(OneNode("GatherND").input({2, 3, 4}).input({5, 2}, DataType::Int64).shape(), "5x4");
  EXPECT_NE(OneNode("GatherND").input({2}).input({5, 2}, DataType::Int64).error(), "");
}

TEST(RecurrentRules, BothLayoutsAndDirections) {
  OneNode lstm("LSTM");
  lstm.input({7, 2, 8})
      .input({2, 40, 8})
      .input({2, 40, 10})
      .attribute("hidden_size", std::int64_t{10});
  lstm.attribute("direction", std::string("bidirectional"));
  EXPECT_EQ(lstm.shape(0, 3), "7x2x2x10");
  OneNode gru("GRU");
  gru.input({2, 7, 8}).input({1, 30, 8}).input({1, 30, 10}).attribute("layout", std::int64_t{1});
  EXPECT_EQ(gru.shape(0, 2), "2x7x1x10");
}

TEST(NormalizationRules, StatisticsKeepTheAxesBeforeTheNormalised) {
  OneNode node("LayerNormalization");
  node.input({2, 3, 8}).input({8});
  EXPECT_EQ(node.shape(1, 3), "2x3x1");
}

TEST(NormalizationRules, DropoutMaskIsBooleanSinceOpsetTen) {
  EXPECT_EQ(OneNode("Dropout", 13).input({2}).text(1, 2), "bool[2]");
  EXPECT_EQ(OneNode("Dropout", 7).input({2}).text(1, 2), "float32[2]");
}

TEST(ImageRules, ResizeFollowsItsOpset) {
  const Tensor doubled = Tensor::of_float({4}, {1, 1, 2, 2});
  EXPECT_EQ(OneNode("Resize", 10).input({1, 3, 5, 7}).constant(doubled).shape(), "1x3x10x14");
  EXPECT_EQ(OneNode("Resize", 13).input({1, 3, 5, 7}).nothing().constant(doubled).shape(),
            "1x3x10x14");
  EXPECT_EQ(
      OneNode("Resize", 13).input({1, 3, 5, 7}).nothing().nothing().ints({1, 3, 9, 9}).shape(),
      "1x3x9x9");
  EXPECT_EQ(OneNode("Upsample", 9).input({1, 3, 5, 7}).constant(doubled).shape(), "1x3x10x14");
  EXPECT_NE(
      OneNode("Resize", 13).input({1}).nothing().constant(Tensor::of_float({1}, {-1})).error(), "");
}

TEST(ImageRules, ResizeKeepsTheAspectRatio) {
  OneNode node("Resize", 18);
  node.input({1, 3, 100, 200}).nothing().nothing().ints({50, 50}).attribute("axes", Ints{2, 3});
  node.attribute("keep_aspect_ratio_policy", std::string("not_larger"));
  EXPECT_EQ(node.shape(), "1x3x25x50");  // the smaller scale: 50/200
}

TEST(ImageRules, ScalesAreMultipliedInFloat) {
  const float third = 7.0f / 3.0f;  // a little less than 7/3, yet 3 · third rounds to 7
  EXPECT_EQ(
      OneNode("Resize", 13).input({3}).nothing().constant(Tensor::of_float({1}, {third})).shape(),
      "7");
}

TEST(QuantizationRules, TypesComeFromScaleAndZeroPoint) {
  const Tensor scale = Tensor::of_float({}, {0.5f});
  const std::int8_t zero = 0;
  const Tensor zero_point = Tensor::of<std::int8_t>(DataType::Int8, {}, std::span(&zero, 1));
  EXPECT_EQ(OneNode("QuantizeLinear").input({4}).constant(scale).constant(zero_point).text(),
            "int8[4]");
  EXPECT_EQ(OneNode("QuantizeLinear").input({4}).constant(scale).text(), "uint8[4]");
  EXPECT_EQ(OneNode("DequantizeLinear").input({4}, DataType::Int8).constant(scale).text(),
            "float32[4]");
}

TEST(MicrosoftRules, FusedOpsAreKnown) {
  EXPECT_EQ(OneNode("BiasGelu").domain("com.microsoft").input({2, 8}).input({8}).shape(), "2x8");
  OneNode node("FusedMatMul");
  EXPECT_EQ(node.domain("com.microsoft")
                .input({2, 3, 4})
                .input({2, 5, 4})
                .attribute("transB", std::int64_t{1})
                .shape(),
            "2x3x5");
  EXPECT_EQ(OneNode("Attention")
                .domain("com.microsoft")
                .input({1, 7, 64})
                .input({64, 192})
                .input({192})
                .shape(),
            "1x7x64");
}

TEST(ElementwiseRules, BroadcastingRefusesWhatDoesNotFit) {
  EXPECT_EQ(OneNode("Add").input({2, 1, 4}).input({3, 1}).shape(), "2x3x4");
  EXPECT_EQ(OneNode("Add").input({Dim::symbol("n"), 1}).input({1, 4}).shape(), "nx4");
  EXPECT_EQ(OneNode("Add").input({2, 3}).input({4, 3}).error(),
            "Add 'node': shapes 2x3 and 4x3 do not broadcast: 2 against 4");
  EXPECT_EQ(OneNode("Equal").input({2}).input({2}).text(), "bool[2]");
}

TEST(UnknownOps, AreDataWithAReason) {
  const Inferred inferred = OneNode("Frobnicate").domain("com.example").input({2}).infer();
  ASSERT_EQ(inferred.unresolved.size(), 1u);
  EXPECT_EQ(inferred.unresolved[0].reason, "no shape rule for op com.example.Frobnicate");
}

TEST(UnknownOps, AnInputOfUnknownRankLeavesShapesOpen) {
  const Inferred inferred = OneNode("Relu").input_of_unknown_rank().infer();
  ASSERT_EQ(inferred.unresolved.size(), 1u);
  EXPECT_EQ(inferred.unresolved[0].reason, "the shape of its input 'x' is not known");
}

}  // namespace
}  // namespace assay
