// Gradients of Dropout in training, and Dropouts that are turned on for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "assay/differentiate.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/layers.h"
#include "assay/program.h"
#include "compare_engines.h"
#include "gradient_check.h"
#include "transform/dropout.h"

namespace assay {

using namespace assay::transform;

namespace {

TEST(DropoutGradient, OfATrainingOneWithASeedIsItsSlope) {
  const GradientCase one{
      "Dropout", {Shape{4, 5}}, [](GraphBuilder& b, const std::vector<ValueId>& x) {
        const std::vector<std::uint8_t> yes = {1};
        const ValueId trains =
            b.constant("trains", Tensor::of<std::uint8_t>(DataType::Bool, {}, yes));
        return b.node("Dropout", "op", {x[0], b.scalar("ratio", 0.3f), trains},
                      {{"seed", std::int64_t{7}}});
      }};
  EXPECT_LT(worst_error(one), 1e-7);
}

Graph two_dropouts() {
  GraphBuilder builder("dropouts");
  const ValueId x = builder.input("x", DataType::Float32, Shape{6, 50});
  const ValueId first = Dropout(0.25f)(builder, x);
  const ValueId second = Dropout(0.5f)(builder, builder.node("Tanh", "tanh", {first}));
  builder.output(builder.node("Neg", "neg", {second}), "y");
  return builder.finish();
}

ValueId add_step(Graph& graph) {
  const ValueId step = graph.add_value("step", tensor_type(DataType::Int64, Shape{}));
  graph.add_input(step);
  return step;
}

std::vector<Tensor> results_at(const Graph& graph, std::int64_t step) {
  const Tensor x = Tensor::of_float({6, 50}, std::vector<float>(300, 0.7f));
  return run(graph, {x, Tensor::of_int64({}, {step})});
}

TEST(TurnDropoutsOn, MakesThemDropOtherElementsInEveryStep) {
  Graph graph = two_dropouts();
  turn_dropouts_on(graph, add_step(graph), 5);
  EXPECT_EQ(std::ranges::count(graph.nodes(), kOwnDomain, &Node::domain), 2);
  const Tensor first = results_at(graph, 0)[0];
  EXPECT_EQ(results_at(graph, 0)[0], first);
  EXPECT_NE(results_at(graph, 1)[0], first);
  const auto zeros = std::ranges::count(first.to_double(), 0.0);
  EXPECT_NEAR(static_cast<double>(zeros), 300 * (1 - 0.75 * 0.5), 45);  // five deviations are 42
}

// As caffe2's converter leaves them: a mask that nobody reads, of no boolean type.
TEST(TurnDropoutsOn, LeavesOutMasksThatNobodyReads) {
  Graph graph;
  graph.opsets[""] = 9;
  const ValueType type = tensor_type(DataType::Float32, Shape{6, 50});
  const ValueId x = graph.add_value("x", type);
  graph.add_input(x);
  const ValueId y = graph.add_value("y", type);
  const ValueId mask = graph.add_value("mask", type);
  graph.add_node(
      {.name = "drop", .op = "Dropout", .domain = "", .inputs = {x}, .outputs = {y, mask}});
  graph.add_output(y);
  Graph asked = graph;
  turn_dropouts_on(graph, add_step(graph), 5);
  const auto zeros = std::ranges::count(results_at(graph, 0)[0].to_double(), 0.0);
  EXPECT_NEAR(static_cast<double>(zeros), 150, 45);
  asked.add_output(mask);
  EXPECT_THROW(turn_dropouts_on(asked, add_step(asked), 5), Error);
}

TEST(TurnDropoutsOn, IsTheSameOnBothEngines) {
  Graph graph = two_dropouts();
  turn_dropouts_on(graph, add_step(graph), 5);
  const Difference difference = compare_engines(graph, {.cpu = {.threads = 2}});
  EXPECT_LT(difference.largest, 1e-6) << difference.where;
}

// One dropout, and one between other ops, of a tensor that nothing divides.
Graph dropouts_of(const Shape& shape, float ratio) {
  GraphBuilder builder("dropouts");
  const ValueId x = builder.input("x", DataType::Float32, shape);
  builder.output(Dropout(ratio)(builder, x), "alone");
  const ValueId negative = builder.node("Neg", "neg", {x});
  const ValueId between = Dropout(ratio)(builder, negative);
  builder.output(builder.node("Add", "add", {between, x}), "between");
  Graph graph = builder.finish();
  turn_dropouts_on(graph, add_step(graph), 9);
  return graph;
}

std::vector<Tensor> results_of(const Graph& graph, const std::string& engine, int threads,
                               const std::vector<Tensor>& inputs) {
  const auto program =
      compile(infer_shapes(graph), {.engine = engine, .cpu = {.threads = threads}});
  for (const StepInfo& step : program->steps()) {
    EXPECT_EQ(engine == "cpu" ? step.fell_back : "", "") << step.op;
  }
  program->set_inputs(inputs);
  program->run();
  return program->results();
}

TEST(TurnDropoutsOn, IsTheSameToTheBitOnBothEnginesAndAnyThreads) {
  const std::vector<std::pair<Shape, float>> cases = {{Shape{1}, 0.5f},
                                                      {Shape{37}, 0.1f},
                                                      {Shape{3, 5, 7}, 0.9f},
                                                      {Shape{2, 4099}, 0.2f},
                                                      {Shape{5, 3, 17, 129}, 0.3f},
                                                      {Shape{64, 1024}, 0.999f}};
  std::int64_t step = 0;
  for (const auto& [shape, ratio] : cases) {
    const Graph graph = dropouts_of(shape, ratio);
    const auto program = compile(infer_shapes(graph), {.engine = "reference"});
    auto inputs = random_inputs(program->inputs(), 3);
    inputs[1] = Tensor::of_int64({}, {++step});
    const auto plain = results_of(graph, "reference", 1, inputs);
    for (const int threads : {1, 2, 3}) {
      const auto fast = results_of(graph, "cpu", threads, inputs);
      EXPECT_EQ(fast[0], plain[0]) << ratio << " on " << threads;
      EXPECT_LT(compare_results(fast, plain).largest, 1e-6) << ratio << " on " << threads;
    }
  }
}

TEST(DropoutGradient, OfATrainingOneWithASeedIsTheSameOnBothEngines) {
  GraphBuilder builder("seeded");
  const ValueId x = builder.input("x", DataType::Float32, Shape{9, 111});
  const std::vector<std::uint8_t> yes = {1};
  const ValueId trains =
      builder.constant("trains", Tensor::of<std::uint8_t>(DataType::Bool, {}, yes));
  builder.output(builder.node("Dropout", "drop", {x, builder.scalar("ratio", 0.4f), trains},
                              {{"seed", std::int64_t{3}}}),
                 "y");
  const Graph both = with_gradient_of_input(builder.finish());
  const auto inputs = random_inputs(compile(infer_shapes(both))->inputs(), 3);
  const auto fast = results_of(both, "cpu", 2, inputs);
  const auto plain = results_of(both, "reference", 1, inputs);
  EXPECT_EQ(fast[0], plain[0]);
  EXPECT_LT(compare_results(fast, plain).largest, 1e-6);
  EXPECT_GT(std::ranges::count(plain[0].to_double(), 0.0), 300);
}

TEST(DropoutGradient, KeepsNoMask) {
  Graph graph = two_dropouts();
  turn_dropouts_on(graph, add_step(graph), 5);
  graph = infer_shapes(std::move(graph)).graph;
  const ValueId loss = add_sum_of_squares(graph);
  const std::vector<ValueId> by = {graph.inputs()[0]};
  const Differentiated both = differentiate(infer_shapes(graph), loss, by);
  const Inferred inferred = infer_shapes(both.graph);
  EXPECT_EQ(std::ranges::count(inferred.graph.nodes(), "Dropout", &Node::op), 4);
  for (std::uint32_t i = 0; i < inferred.graph.value_count(); ++i) {
    EXPECT_NE(inferred.graph.value(ValueId{i}).type.element, DataType::Bool);
  }
}

TEST(DropoutGradient, IsRefusedWithoutASeed) {
  GraphBuilder builder("unseeded");
  const ValueId x = builder.input("x", DataType::Float32, Shape{4});
  const std::vector<std::uint8_t> yes = {1};
  const ValueId trains =
      builder.constant("trains", Tensor::of<std::uint8_t>(DataType::Bool, {}, yes));
  builder.output(builder.node("Dropout", "drop", {x, builder.scalar("ratio", 0.4f), trains}), "y");
  Graph graph = infer_shapes(builder.finish()).graph;
  const ValueId loss = add_sum_of_squares(graph);
  const std::vector<ValueId> by = {graph.inputs()[0]};
  EXPECT_THROW(differentiate(infer_shapes(graph), loss, by), Error);
}

TEST(TurnDropoutsOn, GivesEachASeedOfItsOwn) {
  Graph graph = two_dropouts();
  turn_dropouts_on(graph, add_step(graph), 5);
  std::vector<std::int64_t> seeds;
  for (const Node& node : graph.nodes()) {
    if (node.domain == kOwnDomain) seeds.push_back(node.int_or("seed", 0));
  }
  ASSERT_EQ(seeds.size(), 2u);
  EXPECT_NE(seeds[0], seeds[1]);
}

TEST(TurnDropoutsOn, LeavesAloneWhatDropsNothing) {
  GraphBuilder builder("idle");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2});
  builder.output(Dropout(0)(builder, x), "y");
  Graph graph = builder.finish();
  turn_dropouts_on(graph, add_step(graph), 5);
  EXPECT_TRUE(graph.node(NodeId{0}).is("Dropout"));
}

TEST(TurnDropoutsOn, KnowsTheRatioAsAnAttributeOfOldOpsets) {
  for (const bool is_given : {false, true}) {
    GraphBuilder builder("old", 0, 11);
    const ValueId x = builder.input("x", DataType::Float32, Shape{2});
    std::vector<Attribute> attributes;
    if (is_given) attributes.push_back({"ratio", 0.1f});
    builder.output(builder.node("Dropout", "drop", {x}, attributes), "y");
    Graph graph = builder.finish();
    turn_dropouts_on(graph, add_step(graph), 5);
    EXPECT_EQ(graph.node(NodeId{0}).float_or("ratio", 0), is_given ? 0.1f : 0.5f);
  }
}

TEST(TurnDropoutsOn, RefusesARatioThatIsNoConstant) {
  GraphBuilder builder("open");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2});
  const ValueId ratio = builder.input("ratio", DataType::Float32, Shape{});
  builder.output(builder.node("Dropout", "drop", {x, ratio}), "y");
  Graph graph = builder.finish();
  const ValueId step = add_step(graph);
  EXPECT_THROW(turn_dropouts_on(graph, step, 5), Error);
}

TEST(DropoutGradient, OfOnesThatAreTurnedOnIsTheirSlope) {
  Graph graph = two_dropouts();
  turn_dropouts_on(graph, add_step(graph), 5);
  graph = infer_shapes(std::move(graph)).graph;
  const ValueId loss = add_sum_of_squares(graph);
  const std::vector<ValueId> by = {graph.inputs()[0]};
  Differentiated both = differentiate(infer_shapes(graph), loss, by);
  both.graph.add_output(both.gradients[0].gradient);
  const auto results = results_at(both.graph, 3);
  const auto y = results[0].to_double();
  const auto gradient = results[1].to_double();
  // y = -2 · tanh(x / 0.75) where both keep the element, else 0.
  const double inner = std::tanh(0.7 / 0.75);
  const double slope = -2 * (1 - inner * inner) / 0.75;
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(gradient[i], 2 * y[i] * slope, 1e-5);
}

}  // namespace
}  // namespace assay
