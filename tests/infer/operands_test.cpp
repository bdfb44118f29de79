// What an operator takes and gives, checked before its shape rule: how many, which, of which types.
#include <gmock/gmock.h>

#include "infer/operators/signature.h"
#include "infer/rules.h"
#include "infer_helpers.h"

namespace assay {

using namespace assay::infer;

namespace {

using test::Ints;
using test::OneNode;
using testing::HasSubstr;

TEST(Operands, AMissingInputIsNamed) {
  EXPECT_EQ(OneNode("Conv").input({1, 1, 4, 4}).error(),
            "Conv 'node': takes 2 to 3 inputs, has 1: 'W' is missing");
  EXPECT_EQ(OneNode("Conv").nothing().input({1, 1, 3, 3}).error(),
            "Conv 'node': input 0 ('X') is missing");
}

TEST(Operands, MoreInputsThanTheOperatorTakesAreRefused) {
  EXPECT_EQ(OneNode("Relu").input({1}).input({1}).error(), "Relu 'node': takes 1 inputs, has 2");
}

TEST(Operands, OptionalInputsMayBeLeftOut) {
  EXPECT_EQ(OneNode("Clip").input({2}).nothing().input({}).shape(), "2");
  EXPECT_EQ(OneNode("Clip").input({2}).shape(), "2");
}

TEST(Operands, AnyNumberOfInputsIsAtLeastOne) {
  EXPECT_THAT(OneNode("Concat").attribute("axis", std::int64_t{0}).error(),
              HasSubstr("takes at least 1 inputs, has 0"));
  EXPECT_THAT(OneNode("Concat").input({1}).nothing().attribute("axis", std::int64_t{0}).error(),
              HasSubstr("input 1 ('inputs') is missing"));
}

TEST(Operands, MoreOutputsThanTheOperatorGivesAreRefused) {
  EXPECT_THROW(OneNode("Relu").input({1}).infer(2), Error);
  EXPECT_NO_THROW(OneNode("Dropout").input({1}).infer(2));
}

TEST(Operands, InputsOfOneTypeAreOfOneType) {
  EXPECT_EQ(OneNode("Add").input({2}).input({2}, DataType::Float64).error(),
            "Add 'node': input 'A' is float32, input 'B' is float64: they must be of one type");
}

TEST(Operands, AnInputOfAnotherKindIsRefused) {
  EXPECT_EQ(OneNode("Conv").input({1, 1, 4, 4}, DataType::Int32).input({1, 1, 3, 3}).error(),
            "Conv 'node': input 'X' is int32, takes real");
}

TEST(Operands, EveryVersionHasItsOwn) {
  const std::vector<float> scales = {1, 1, 2, 2};
  EXPECT_EQ(OneNode("Upsample", 7).input({1, 1, 2, 2}).attribute("scales", scales).shape(),
            "1x1x4x4");
  EXPECT_THAT(OneNode("Upsample", 9).input({1, 1, 2, 2}).error(), HasSubstr("'scales' is missing"));
  EXPECT_THAT(OneNode("Upsample", 7).input({1, 1, 2, 2}).error(), HasSubstr("has no scales"));
  EXPECT_EQ(OneNode("Squeeze", 11).input({1, 2}).attribute("axes", Ints{0}).shape(), "2");
  EXPECT_EQ(OneNode("Squeeze", 13).input({1, 2}).ints({0}).shape(), "2");
  EXPECT_THROW(OneNode("Squeeze", 11).input({1, 2}).ints({0}).infer(), Error);
}

TEST(Operands, OtherDomainsAreCheckedToo) {
  EXPECT_THAT(OneNode("FusedMatMul").domain("com.microsoft").input({2, 2}).error(),
              HasSubstr("'B' is missing"));
  EXPECT_THAT(OneNode("SoftmaxGradient").domain("assay").input({2, 2}).error(),
              HasSubstr("'gradient' is missing"));
}

TEST(Operands, EveryOpWithAShapeRuleHasASignature) {
  for (const char* domain : {"", "assay", "com.microsoft", "ai.onnx.ml"}) {
    for (const std::string_view op : ops_with_rules(domain)) {
      const Node node{.name = "", .op = std::string(op), .domain = domain};
      EXPECT_NE(find_signature(node, 17), nullptr) << domain << ":" << op;
    }
  }
}

TEST(Operands, ASlopeDoesNotMakeTheInputLarger) {
  EXPECT_EQ(OneNode("PRelu").input({3, 4}).input({3, 4, 5}).error(),
            "PRelu 'node': shapes 3x4 and 3x4x5 do not broadcast: 4 against 5");
  EXPECT_EQ(OneNode("PRelu").input({3, 4}).input({2, 3, 4}).error(),
            "PRelu 'node': the slope 2x3x4 does not broadcast to 3x4");
  EXPECT_EQ(OneNode("PRelu").input({3, 4}).input({4}).shape(), "3x4");
}

TEST(Operands, TheAxisOfASoftmaxIsOneOfItsInput) {
  EXPECT_THROW(OneNode("Softmax").input({2, 3}).attribute("axis", std::int64_t{2}).infer(), Error);
  EXPECT_NO_THROW(OneNode("Softmax", 11).input({2, 3}).attribute("axis", std::int64_t{2}).infer());
}

TEST(Operands, StatesOfARecurrentLayerFitIt) {
  const auto gru = [](Shape state) {
    return OneNode("GRU")
        .input({5, 2, 3})
        .input({1, 12, 3})
        .input({1, 12, 4})
        .nothing()
        .nothing()
        .input(std::move(state))
        .attribute("hidden_size", std::int64_t{4})
        .error();
  };
  EXPECT_EQ(gru({1, 2, 4}), "");
  EXPECT_EQ(gru({1, 1, 4}), "GRU 'node': input 5 is 1x1x4, must be 1x2x4");
}

TEST(Operands, GradientsAreAsLargeAsTheResult) {
  const auto softmax = [](Shape gradient) {
    return OneNode("SoftmaxGradient")
        .domain("assay")
        .input({2, 3})
        .input(std::move(gradient))
        .error();
  };
  EXPECT_EQ(softmax({2, 3}), "");
  EXPECT_EQ(softmax({2, 2}), "SoftmaxGradient 'node': input 1 is 2x2, must be 2x3");
  // 6 pixels, 3 of them under each window: 4 windows
  const auto convolution = [](Shape gradient) {
    return OneNode("ConvWeightGradient")
        .domain("assay")
        .input({1, 2, 6})
        .input(std::move(gradient))
        .attribute("weight_dims", Ints{5, 2, 3})
        .error();
  };
  EXPECT_EQ(convolution({1, 5, 4}), "");
  EXPECT_EQ(convolution({1, 5, 3}), "ConvWeightGradient 'node': input 1 is 1x5x3, must be 1x5x4");
}

}  // namespace
}  // namespace assay
