#include "transform/simplify.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "assay/builder.h"
#include "assay/layers.h"
#include "assay/zoo.h"

namespace assay {

using namespace assay::transform;

namespace {

Rewritten simplified(GraphBuilder& builder) {
  return simplify(infer_shapes(builder.finish()));
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) ops.push_back(node.op);
  return ops;
}

TEST(Simplify, FoldsABatchNormIntoTheConvolutionBeforeIt) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 1, 2, 2});
  const ValueId conv = builder.node("Conv", "conv", {x, builder.filled("w", {1, 1, 1, 1}, 3.0f)});
  builder.output(
      builder.node("BatchNormalization", "bn",
                   {conv, builder.filled("gamma", {1}, 2.0f), builder.filled("beta", {1}, 1.0f),
                    builder.filled("mean", {1}, 5.0f), builder.filled("variance", {1}, 4.0f)},
                   {{"epsilon", 0.0f}}),
      "y");
  const Rewritten result = simplified(builder);
  ASSERT_EQ(ops_of(result.model.graph), std::vector<std::string>{"Conv"});
  const Node& node = result.model.graph.nodes()[0];
  // scale = 2 / √4 = 1; weight 3 · 1, bias 1 - 5 · 1
  EXPECT_EQ(result.model.graph.initializer(node.inputs[1])->to_double(), std::vector{3.0});
  EXPECT_EQ(result.model.graph.initializer(node.inputs[2])->to_double(), std::vector{-4.0});
  EXPECT_EQ(result.origins[0], (std::vector{NodeId{0}, NodeId{1}}));
}

TEST(Simplify, KeepsABatchNormWhoseInputSomebodyElseReads) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 1, 2, 2});
  const ValueId conv = builder.node("Conv", "conv", {x, builder.filled("w", {1, 1, 1, 1}, 3.0f)});
  const ValueId norm = BatchNorm2d(1)(builder, conv);
  builder.output(builder.node("Add", "sum", {conv, norm}), "y");
  const auto ops = ops_of(simplified(builder).model.graph);
  EXPECT_EQ(std::ranges::count(ops, "BatchNormalization"), 1);
}

TEST(Simplify, ComputesOnceWhatDependsOnConstantsOnly) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2});
  const ValueId twice =
      builder.node("Mul", "twice", {builder.filled("a", {2}, 3.0f), builder.scalar("b", 2.0f)});
  builder.output(builder.node("Add", "y", {x, twice}), "out");
  const Rewritten result = simplified(builder);
  ASSERT_EQ(ops_of(result.model.graph), std::vector<std::string>{"Add"});
  const ValueId folded = result.model.graph.nodes()[0].inputs[1];
  EXPECT_EQ(result.model.known_value(folded)->to_double(), (std::vector{6.0, 6.0}));
}

TEST(Simplify, DropsDropoutAndIdentityBetweenNodes) {
  GraphBuilder builder("net");
  ValueId x = builder.input("x", DataType::Float32, Shape{1, 4});
  x = Dropout(0.5f)(builder, x);
  x = builder.node("Identity", "same", {x});
  builder.output(Relu()(builder, x), "y");
  EXPECT_EQ(ops_of(simplified(builder).model.graph), std::vector<std::string>{"Relu"});
}

TEST(Simplify, DropsAPadByNothingAndAConcatOfOneInput) {
  GraphBuilder builder("net");
  ValueId x = builder.input("x", DataType::Float32, Shape{1, 4});
  x = builder.node("Pad", "pad", {x, builder.ints("pads", {0, 0, 0, 0})});
  x = builder.node("Concat", "join", {x}, {{"axis", std::int64_t{1}}});
  builder.output(Relu()(builder, x), "y");
  EXPECT_EQ(ops_of(simplified(builder).model.graph), std::vector<std::string>{"Relu"});
}

TEST(Simplify, KeepsAPadThatMovesElementsWithinTheShape) {
  GraphBuilder builder("net");
  ValueId x = builder.input("x", DataType::Float32, Shape{1, 4});
  x = builder.node("Pad", "pad", {x, builder.ints("pads", {0, 1, 0, -1})});
  builder.output(Relu()(builder, x), "y");
  EXPECT_EQ(ops_of(simplified(builder).model.graph), (std::vector<std::string>{"Pad", "Relu"}));
}

TEST(Simplify, DropsDropoutThatDropsNothingInTraining) {
  for (const float ratio : {0.0f, 0.5f}) {
    GraphBuilder builder("net");
    ValueId x = builder.input("x", DataType::Float32, Shape{1, 4});
    const std::vector<float> share = {ratio};
    const std::vector<std::uint8_t> trains = {1};
    x = builder.node(
        "Dropout", "dropout",
        {x, builder.constant("ratio", Tensor::of<float>(DataType::Float32, {}, share)),
         builder.constant("trains", Tensor::of<std::uint8_t>(DataType::Bool, {}, trains))});
    builder.output(Relu()(builder, x), "y");
    EXPECT_EQ(simplified(builder).model.graph.node_count(), ratio == 0 ? 1u : 2u) << ratio;
  }
}

TEST(Simplify, KeepsAnIdentityThatMakesAnOutput) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{4});
  builder.output(builder.node("Identity", "same", {x}), "y");
  EXPECT_EQ(ops_of(simplified(builder).model.graph), std::vector<std::string>{"Identity"});
}

TEST(Simplify, RecognisesGeluInBothForms) {
  for (const auto& [layer, approximate] :
       {std::pair{Gelu(), std::string("none")}, std::pair{GeluTanh(), std::string("tanh")}}) {
    GraphBuilder builder("net");
    const ValueId x = builder.input("x", DataType::Float32, Shape{1, 4, 8});
    builder.output(layer(builder, x), "y");
    const std::size_t written = infer_shapes(builder.finish()).graph.node_count();
    GraphBuilder again("net");
    again.output(layer(again, again.input("x", DataType::Float32, Shape{1, 4, 8})), "y");
    const Rewritten result = simplified(again);
    ASSERT_EQ(ops_of(result.model.graph), std::vector<std::string>{"Gelu"});
    EXPECT_EQ(result.model.graph.nodes()[0].string_or("approximate", ""), approximate);
    EXPECT_EQ(result.origins[0].size(), written);
  }
}

TEST(Simplify, LeavesAProductThatIsNotQuiteGelu) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{8});
  const ValueId erf = builder.node("Erf", "erf", {x});  // of x, not of x/√2
  const ValueId gate = builder.node("Add", "gate", {erf, builder.scalar("one", 1.0f)});
  const ValueId product = builder.node("Mul", "product", {x, gate});
  builder.output(builder.node("Mul", "half", {product, builder.scalar("h", 0.5f)}), "y");
  const auto ops = ops_of(simplified(builder).model.graph);
  EXPECT_EQ(std::ranges::count(ops, "Gelu"), 0);
}

TEST(Simplify, RecognisesALayerNormWrittenOut) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3, 8});
  const std::vector<std::int64_t> last = {-1};
  const ValueId mean = builder.node("ReduceMean", "mean", {x}, {{"axes", last}});
  const ValueId centred = builder.node("Sub", "centred", {x, mean});
  const ValueId square = builder.node("Pow", "square", {centred, builder.scalar("two", 2.0f)});
  const ValueId variance = builder.node("ReduceMean", "variance", {square}, {{"axes", last}});
  const ValueId shifted = builder.node("Add", "shifted", {variance, builder.scalar("e", 1e-5f)});
  const ValueId deviation = builder.node("Sqrt", "deviation", {shifted});
  const ValueId normal = builder.node("Div", "normal", {centred, deviation});
  const ValueId scaled = builder.node("Mul", "scaled", {normal, builder.weight("g", {8}, 1.0)});
  builder.output(builder.node("Add", "moved", {scaled, builder.weight("b", {8}, 1.0)}), "y");
  const Rewritten result = simplified(builder);
  ASSERT_EQ(ops_of(result.model.graph), std::vector<std::string>{"LayerNormalization"});
  EXPECT_EQ(result.origins[0].size(), 9u);
}

TEST(Simplify, ReadsATransposedWeightAsItIsStored) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId transposed =
      builder.node("Transpose", "transposed", {builder.weight("w", {5, 3}, 1.0)},
                   {{"perm", std::vector<std::int64_t>{1, 0}}});
  builder.output(builder.node("MatMul", "product", {x, transposed}), "y");
  const Rewritten result = simplified(builder);
  ASSERT_EQ(ops_of(result.model.graph), std::vector<std::string>{"FusedMatMul"});
  EXPECT_EQ(result.model.graph.nodes()[0].int_or("transB", 0), 1);
}

TEST(Simplify, AccountsForEveryLayerOfANetworkThatRuns) {
  const Inferred model = infer_shapes(zoo_model("resnet18"));
  const Rewritten result = simplify(model);
  std::vector<NodeId> all;
  for (const auto& origins : result.origins) all.insert(all.end(), origins.begin(), origins.end());
  std::ranges::sort(all);
  EXPECT_EQ(all.size(), model.graph.node_count());
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end());
}

// queries · scale, in heads, times keys; by how the scale is written.
Rewritten scaled_attention(bool on_both, bool of_result, bool is_read_twice) {
  GraphBuilder builder("net");
  const auto input = [&](const std::string& name) {
    const ValueId given = builder.input(name, DataType::Float32, Shape{1, 5, 8});
    return builder.node("Relu", name + ".relu", {given});
  };
  ValueId queries = input("q"), keys = input("k");
  const auto scaled = [&](const std::string& name, ValueId value) {
    return builder.node("Mul", name, {value, builder.scalar(name + ".factor", 0.5f)});
  };
  if (!of_result) queries = scaled("scale_q", queries);
  if (on_both) keys = scaled("scale_k", keys);
  if (is_read_twice) builder.output(builder.node("Neg", "other", {queries}), "z");
  const ValueId shape = builder.ints("shape", {0, 0, 2, 4});
  queries = builder.node("Transpose", "tq", {builder.node("Reshape", "rq", {queries, shape})},
                         {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  keys = builder.node("Transpose", "tk", {builder.node("Reshape", "rk", {keys, shape})},
                      {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
  ValueId scores = builder.node("MatMul", "scores", {queries, keys});
  if (of_result) scores = builder.node("Div", "by", {scores, builder.scalar("two", 2.0f)});
  builder.output(scores, "y");
  return simplified(builder);
}

float alpha_of_scores(const Rewritten& model) {
  for (const Node& node : model.model.graph.nodes()) {
    if (node.op == "FusedMatMul") return node.float_or("alpha", 1.0f);
  }
  return 0;
}

TEST(Simplify, FoldsTheScaleOfQueriesIntoTheProduct) {
  const Rewritten model = scaled_attention(false, false, false);
  EXPECT_EQ(alpha_of_scores(model), 0.5f);
  EXPECT_EQ(std::ranges::count(ops_of(model.model.graph), "Mul"), 0);
  // Relu, Relu, Reshape, Transpose, Reshape, Transpose, then the product, which does the Mul's
  // work.
  EXPECT_EQ(model.origins.back().size(), 2u);
}

TEST(Simplify, FoldsScalesOfQueriesAndKeysIntoTheProduct) {
  const Rewritten model = scaled_attention(true, false, false);
  EXPECT_EQ(alpha_of_scores(model), 0.25f);
  EXPECT_EQ(std::ranges::count(ops_of(model.model.graph), "Mul"), 0);
}

TEST(Simplify, FoldsTheScaleOfAProductIntoIt) {
  const Rewritten model = scaled_attention(false, true, false);
  EXPECT_EQ(alpha_of_scores(model), 0.5f);
  EXPECT_EQ(std::ranges::count(ops_of(model.model.graph), "Div"), 0);
}

TEST(Simplify, KeepsAScaleThatSomebodyElseReads) {
  const Rewritten model = scaled_attention(false, false, true);
  EXPECT_EQ(alpha_of_scores(model), 0.0f);
  EXPECT_EQ(std::ranges::count(ops_of(model.model.graph), "Mul"), 1);
}

TEST(Simplify, KeepsTheScaleOfAMatrixThatIsMultipliedByItself) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{4, 4});
  const ValueId scaled = builder.node("Mul", "scale", {x, builder.scalar("half", 0.5f)});
  builder.output(builder.node("MatMul", "square", {scaled, scaled}), "y");
  const Rewritten model = simplified(builder);
  EXPECT_EQ(ops_of(model.model.graph), (std::vector<std::string>{"Mul", "MatMul"}));
}

}  // namespace
}  // namespace assay
