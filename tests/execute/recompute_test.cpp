// Graphs that compute activations a second time: the same results in less memory.
#include "assay/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/differentiate.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/memory.h"
#include "assay/program.h"
#include "assay/zoo.h"
#include "compare_engines.h"
#include "gradient_check.h"
#include "transform/dropout.h"

namespace assay {

using namespace assay::transform;

namespace {

// A model with its backward pass; outputs are the model's, the loss and all gradients.
Differentiated training_of(Graph graph) {
  graph = infer_shapes(std::move(graph)).graph;
  const ValueId loss = add_sum_of_squares(graph);
  graph.add_output(loss);
  std::vector<ValueId> weights;
  for (const Initializer& one : graph.initializers()) {
    if (is_floating(one.tensor.type()) && one.tensor.elements() > 1) weights.push_back(one.value);
  }
  Differentiated both = differentiate(infer_shapes(graph), loss, weights);
  for (const ValueGradient& pair : both.gradients) {
    if (pair.gradient.is_valid()) both.graph.add_output(pair.gradient);
  }
  return both;
}

std::vector<Tensor> inputs_of(const Graph& graph) {
  std::vector<Value> values;
  for (const ValueId input : graph.inputs()) values.push_back(graph.value(input));
  return random_inputs(values, 11);
}

std::int64_t planned_bytes(const Graph& graph) {
  return plan_memory(infer_shapes(graph)).arena_bytes;
}

// The graph in `pieces`, which must give what the whole does.
Recomputed checked(const Differentiated& training, std::size_t pieces) {
  Recomputed less = recompute(training.graph, training.forward_nodes, pieces);
  const auto inputs = inputs_of(training.graph);
  EXPECT_EQ(run(less.graph, inputs), run(training.graph, inputs)) << pieces << " pieces";
  return less;
}

TEST(Recompute, GivesTheVerySameResults) {
  for (const char* model :
       {"small_cnn:batch=2", "lenet5:batch=2", "encoder:layers=2,width=16,heads=2,length=5"}) {
    SCOPED_TRACE(model);
    const Differentiated training = training_of(zoo_model(model));
    std::size_t repeats = 0;
    for (const std::size_t pieces : {2u, 3u, 4u, 8u, 1000u})
      repeats += checked(training, pieces).repeat_count();
    EXPECT_GT(repeats, 0u);
  }
}

TEST(Recompute, IsTheSameOnBothEngines) {
  const Differentiated training =
      training_of(zoo_model("encoder:layers=2,width=16,heads=2,length=5"));
  const Recomputed less = recompute(training.graph, training.forward_nodes, 3);
  const Difference difference = compare_engines(less.graph, {.cpu = {.threads = 2}});
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_LT(difference.largest, 1e-3) << difference.where;  // as without recomputation
}

// Convolutions with batch norms that train, whose statistics are outputs too.
Graph normalized_network(std::int64_t opset) {
  GraphBuilder builder("normalized", 0, opset);
  ValueId x = builder.input("x", DataType::Float32, Shape{3, 2, 6, 6});
  for (int i = 0; i < 4; ++i) {
    const std::string name = "block" + std::to_string(i);
    const ValueId weight = builder.weight(name + ".weight", {2, 2, 3, 3}, 0.5);
    x = builder.node("Conv", name + ".conv", {x, weight},
                     {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    std::vector<Attribute> attributes;
    if (opset >= 14) attributes.push_back({"training_mode", std::int64_t{1}});
    const auto normalized = builder.node_with_outputs(
        "BatchNormalization", name + ".norm",
        {x, builder.weight(name + ".scale", {2}, 1), builder.weight(name + ".bias", {2}, 1),
         builder.filled(name + ".mean", {2}, 0), builder.filled(name + ".variance", {2}, 1)},
        3, attributes);
    builder.output(normalized[1], name + ".new_mean");
    x = builder.node("Relu", name + ".relu", {normalized[0]});
  }
  builder.output(x, "y");
  return builder.finish();
}

TEST(Recompute, HandsRunningStatisticsOnOnce) {
  for (const std::int64_t opset : {11, 17}) {
    const Differentiated training = training_of(normalized_network(opset));
    const Recomputed less = checked(training, 2);
    const auto read = consumers(less.graph);
    std::size_t repeated = 0;
    for (std::uint32_t i = 0; i < less.graph.node_count(); ++i) {
      const Node& node = less.graph.node(NodeId{i});
      if (!less.repeats[i] || !node.is("BatchNormalization")) continue;
      ++repeated;
      for (std::size_t k = 1; k < node.outputs.size(); ++k)
        EXPECT_TRUE(read[node.outputs[k].number].empty());
    }
    EXPECT_GT(repeated, 0u);
  }
}

Graph deep_network(int layers = 32) {
  GraphBuilder builder("deep");
  ValueId x = builder.input("x", DataType::Float32, Shape{256, 8});
  for (int i = 0; i < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    x = builder.node("MatMul", name, {x, builder.weight(name + ".weight", {8, 8}, 0.5)});
    x = builder.node("Tanh", name + ".tanh", {x});
  }
  builder.output(x, "y");
  return builder.finish();
}

TEST(Recompute, TakesTheRootOfTheMemoryOfADeepNetwork) {
  const Differentiated training = training_of(deep_network());
  const Recomputed less = recompute(training.graph, training.forward_nodes, 6);
  const std::int64_t activation = 256 * 8 * 4;
  EXPECT_GE(planned_bytes(training.graph), 32 * activation);
  // Five cuts, a piece of six layers, and a few gradients.
  EXPECT_LE(planned_bytes(less.graph), 17 * activation);
}

TEST(Recompute, OnePieceChangesNothing) {
  const Differentiated training = training_of(deep_network(3));
  const Recomputed same = recompute(training.graph, training.forward_nodes, 1);
  EXPECT_EQ(same.repeat_count(), 0u);
  EXPECT_EQ(same.graph, training.graph);
}

TEST(Recompute, KnowsWhereEachNodeComesFrom) {
  const Differentiated training = training_of(deep_network(6));
  const Recomputed less = recompute(training.graph, training.forward_nodes, 3);
  ASSERT_EQ(less.origin_of.size(), less.graph.node_count());
  std::vector<NodeId> once;
  for (std::uint32_t i = 0; i < less.graph.node_count(); ++i) {
    const Node& origin = training.graph.node(less.origin_of[i]);
    EXPECT_EQ(less.graph.node(NodeId{i}).op, origin.op);
    if (!less.repeats[i]) once.push_back(less.origin_of[i]);
    EXPECT_EQ(less.graph.node(NodeId{i}).name, origin.name + (less.repeats[i] ? "/again" : ""));
  }
  EXPECT_EQ(once.size(), training.graph.node_count());
  EXPECT_TRUE(std::ranges::is_sorted(once));
}

// Sums are differentiated without what was summed.
TEST(Recompute, RepeatsNothingThatNobodyReads) {
  GraphBuilder builder("sums");
  ValueId x = builder.input("x", DataType::Float32, Shape{4, 4});
  for (int i = 0; i < 8; ++i)
    x = builder.node("Add", "sum", {x, builder.weight("addend", {4, 4}, 1)});
  builder.output(x, "y");
  const Differentiated training = training_of(builder.finish());
  EXPECT_EQ(recompute(training.graph, training.forward_nodes, 4).repeat_count(), 0u);
}

TEST(Recompute, NeverDrawsRandomNumbersTwice) {
  GraphBuilder builder("noise");
  ValueId x = builder.input("x", DataType::Float32, Shape{4, 4});
  const ValueId weight = builder.weight("weight", {4, 4}, 1);
  for (int i = 0; i < 6; ++i) {
    const ValueId noise =
        builder.node("RandomNormal", "noise", {}, {{"shape", std::vector<std::int64_t>{4, 4}}});
    x = builder.node("Tanh", "tanh", {builder.node("Mul", "mul", {x, noise})});
    x = builder.node("MatMul", "product", {x, weight});
  }
  builder.output(x, "y");
  const Differentiated training = training_of(builder.finish());
  const Recomputed less = checked(training, 3);
  EXPECT_EQ(std::ranges::count(less.graph.nodes(), "RandomNormal", &Node::op), 6);
  EXPECT_GT(less.repeat_count(), 0u);
}

TEST(Recompute, RepeatsADropoutOfTheSameStep) {
  GraphBuilder builder("dropouts");
  ValueId x = builder.input("x", DataType::Float32, Shape{4, 4});
  const ValueId step = builder.input("step", DataType::Int64, Shape{});
  const ValueId weight = builder.weight("weight", {4, 4}, 1);
  for (int i = 0; i < 6; ++i) {
    x = Dropout(0.5f)(builder, builder.node("Tanh", "tanh", {x}));
    x = builder.node("MatMul", "product", {x, weight});
  }
  builder.output(x, "y");
  Graph graph = builder.finish();
  turn_dropouts_on(graph, step, 1);
  const Differentiated training = training_of(graph);
  const Recomputed less = checked(training, 3);
  EXPECT_GT(std::ranges::count(less.graph.nodes(), "Dropout", &Node::op),
            std::ranges::count(training.graph.nodes(), "Dropout", &Node::op));
}

TEST(FitToBudget, RepeatsNoMoreThanItMust) {
  const Differentiated training = training_of(deep_network());
  const std::int64_t all = planned_bytes(training.graph);
  const auto fit = [&](std::int64_t budget) {
    return fit_to_budget(training.graph, training.forward_nodes, budget, planned_bytes);
  };
  EXPECT_EQ(fit(all).repeat_count(), 0u);
  const Recomputed three_quarters = fit(all * 3 / 4);
  const Recomputed half = fit(all / 2);
  EXPECT_LE(planned_bytes(three_quarters.graph), all * 3 / 4);
  EXPECT_LE(planned_bytes(half.graph), all / 2);
  EXPECT_GT(three_quarters.repeat_count(), 0u);
  EXPECT_LT(three_quarters.repeat_count(), half.repeat_count());
}

TEST(FitToBudget, TellsTheLeastItCanComeDownTo) {
  const Differentiated training = training_of(deep_network());
  std::int64_t least = planned_bytes(training.graph);
  const auto noted_bytes = [&](const Graph& graph) {
    const std::int64_t bytes = planned_bytes(graph);
    least = std::min(least, bytes);
    return bytes;
  };
  try {
    fit_to_budget(training.graph, training.forward_nodes, 1000, noted_bytes);
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(least, planned_bytes(training.graph) / 2);
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(least) + " bytes, not to 1000"));
  }
}

TEST(Recompute, RefusesMoreForwardNodesThanThereAre) {
  const Differentiated training = training_of(deep_network(2));
  EXPECT_THROW(recompute(training.graph, training.graph.node_count() + 1, 2), Error);
  EXPECT_THROW(recompute(training.graph, training.forward_nodes, 0), Error);
}

}  // namespace
}  // namespace assay
