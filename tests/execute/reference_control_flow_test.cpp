// If, Loop, Scan and SequenceMap as the reference engine runs them, and what they may carry.
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "body_maker.h"
#include "execute/reference/interpreter.h"

namespace assay {
namespace {

using test::Body;
using test::truth;
using Floats = std::vector<float>;
using NamedValues = std::vector<reference::RuntimeValue>;

Tensor scalar(float number) {
  return Tensor::of_float({}, {number});
}

Tensor count(std::int64_t number) {
  return Tensor::of_int64({}, {number});
}

Floats floats(const reference::RuntimeValue& value) {
  return value.tensor()->to_vector<float>();
}

// A loop that adds `step`, a value outside, to what it carries, as long as the sum is below
// `limit`, and collects every sum.
GraphPtr adding_body(ValueId step, float limit) {
  Body body;
  body.input(DataType::Int64, Shape{});
  body.input(DataType::Bool, Shape{});
  const ValueId before = body.input(DataType::Float32, Shape{});
  const ValueId sum = body.node("Add", {before, body.capture(step)});
  body.output(body.node("Less", {sum, body.constant(scalar(limit))}));
  return body.output(sum).output(sum).finish();
}

struct Adding {
  GraphBuilder builder{"loop"};
  ValueId rounds = builder.input("rounds", DataType::Int64, Shape{});
  ValueId goes_on = builder.input("goes_on", DataType::Bool, Shape{});
  ValueId start = builder.input("start", DataType::Float32, Shape{});
  ValueId step = builder.input("step", DataType::Float32, Shape{});

  Graph graph(float limit) {
    const auto outputs = builder.node_with_outputs("Loop", "loop", {rounds, goes_on, start}, 2,
                                                   {{"body", adding_body(step, limit)}});
    builder.output(outputs[0], "last");
    builder.output(outputs[1], "all");
    return builder.finish();
  }
};

TEST(ReferenceLoop, CarriesCollectsAndSeesWhatIsAround) {
  const Graph graph = Adding().graph(1000);
  const auto results =
      reference::Interpreter(graph).run({count(3), truth(true), scalar(1), scalar(10)});
  EXPECT_EQ(floats(results[0]), Floats{31});
  EXPECT_EQ(floats(results[1]), (Floats{11, 21, 31}));
}

TEST(ReferenceLoop, EndsWhenItsConditionDoes) {
  const Graph graph = Adding().graph(20);
  const auto results =
      reference::Interpreter(graph).run({count(INT64_MAX), truth(true), scalar(1), scalar(10)});
  EXPECT_EQ(floats(results[1]), (Floats{11, 21}));  // 21 is not below 20, but was computed
}

TEST(ReferenceLoop, MayRunNotAtAll) {
  // What type nothing would have is known only after inference.
  const Graph graph = infer_shapes(Adding().graph(1000)).graph;
  const reference::Interpreter interpreter(graph);
  for (const auto& [rounds, goes_on] : {std::pair(0, true), std::pair(5, false)}) {
    const auto results = interpreter.run({count(rounds), truth(goes_on), scalar(1), scalar(10)});
    EXPECT_EQ(floats(results[0]), Floats{1});
    EXPECT_EQ(results[1].tensor()->dims()[0], 0);
    EXPECT_EQ(results[1].tensor()->elements(), 0);
  }
}

// sum of i·j for i < 3, j < 4, the inner loop capturing what the outer captures and carries.
TEST(ReferenceLoop, MayStandInALoop) {
  GraphBuilder builder("nested");
  const ValueId outer_rounds = builder.input("outer", DataType::Int64, Shape{});
  const ValueId inner_rounds = builder.input("inner", DataType::Int64, Shape{});
  const ValueId zero = builder.constant("zero", scalar(0));
  Body outer;
  const ValueId i = outer.input(DataType::Int64, Shape{});
  const ValueId outer_condition = outer.input(DataType::Bool, Shape{});
  const ValueId outer_sum = outer.input(DataType::Float32, Shape{});
  Body inner;
  const ValueId j = inner.input(DataType::Int64, Shape{});
  const ValueId inner_condition = inner.input(DataType::Bool, Shape{});
  const ValueId inner_sum = inner.input(DataType::Float32, Shape{});
  const ValueId product = inner.node("Mul", {inner.capture(i), j});
  const ValueId real = inner.node("Cast", {product}, {{"to", std::int64_t{1}}});
  inner.output(inner_condition).output(inner.node("Add", {inner_sum, real}));
  const ValueId sum = outer.node("Loop", {outer.capture(inner_rounds), ValueId{}, outer_sum},
                                 {{"body", inner.finish()}});
  outer.output(outer_condition).output(sum);
  builder.output(builder.node("Loop", "outer_loop", {outer_rounds, ValueId{}, zero},
                              {{"body", outer.finish()}}),
                 "y");
  const Graph graph = builder.finish();
  const auto results = reference::Interpreter(graph).run({count(3), count(4)});
  EXPECT_EQ(floats(results[0]), Floats{(0 + 1 + 2) * (0 + 1 + 2 + 3)});
}

TEST(ReferenceLoop, MayCarryASequence) {
  GraphBuilder builder("sequence");
  const ValueId rounds = builder.input("rounds", DataType::Int64, Shape{});
  const ValueId empty = builder.node("SequenceEmpty", "empty", {});
  Body body;
  const ValueId round = body.input(DataType::Int64, Shape{});
  const ValueId condition = body.input(DataType::Bool, Shape{});
  const ValueId list = body.input(DataType::Int64);
  body.output(condition).output(body.node("SequenceInsert", {list, round}));
  const ValueId all =
      builder.node("Loop", "loop", {rounds, ValueId{}, empty}, {{"body", body.finish()}});
  const ValueId joined = builder.node("ConcatFromSequence", "join", {all},
                                      {{"axis", std::int64_t{0}}, {"new_axis", std::int64_t{1}}});
  builder.output(joined, "y");
  builder.output(builder.node("SequenceLength", "length", {all}), "n");
  const Graph graph = builder.finish();
  const auto results = reference::Interpreter(graph).run({count(4)});
  EXPECT_EQ(results[0].tensor()->to_int64(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(results[1].tensor()->to_int64(), std::vector<std::int64_t>{4});
}

TEST(ReferenceIf, RunsOneBranchOnly) {
  GraphBuilder builder("choice");
  const ValueId condition = builder.input("c", DataType::Bool, Shape{});
  const ValueId x = builder.input("x", DataType::Int64, Shape{1});
  Body divides;
  divides.output(divides.node("Div", {divides.capture(x), divides.capture(x)}));
  Body passes;
  passes.output(passes.capture(x));
  builder.output(
      builder.node("If", "choose", {condition},
                   {{"then_branch", divides.finish()}, {"else_branch", passes.finish()}}),
      "y");
  const Graph graph = builder.finish();
  const reference::Interpreter interpreter(graph);
  const Tensor zero = Tensor::of_int64({1}, {0});
  EXPECT_EQ(interpreter.run({truth(false), zero})[0].tensor()->to_int64().front(), 0);
  EXPECT_THROW(interpreter.run({truth(true), zero}), Error);
}

// Running sums of the columns of a matrix, from the last to the first, weighed by a capture.
struct Scanning {
  GraphBuilder builder{"scan"};
  ValueId state = builder.input("state", DataType::Float32, Shape{2});
  ValueId matrix = builder.input("matrix", DataType::Float32, Shape{2, 3});
  ValueId factor = builder.input("factor", DataType::Float32, Shape{});

  Graph graph(std::vector<Attribute> attributes) {
    Body body;
    const ValueId before = body.input(DataType::Float32, Shape{2});
    const ValueId column = body.input(DataType::Float32, Shape{2});
    const ValueId sum =
        body.node("Add", {before, body.node("Mul", {column, body.capture(factor)})});
    attributes.push_back({"body", body.output(sum).output(sum).finish()});
    attributes.push_back({"num_scan_inputs", std::int64_t{1}});
    attributes.push_back({"scan_input_axes", std::vector<std::int64_t>{1}});
    const auto outputs = builder.node_with_outputs("Scan", "scan", {state, matrix}, 2, attributes);
    builder.output(outputs[0], "last");
    builder.output(outputs[1], "all");
    return builder.finish();
  }
};

const Tensor kMatrix = Tensor::of_float({2, 3}, {1, 2, 3, 10, 20, 30});

TEST(ReferenceScan, SlicesStacksAndCarries) {
  const Graph graph = Scanning().graph({});
  const auto results =
      reference::Interpreter(graph).run({Tensor::of_float({2}, {0, 0}), kMatrix, scalar(2)});
  EXPECT_EQ(floats(results[0]), (Floats{2 * 6, 2 * 60}));
  EXPECT_EQ(results[1].tensor()->dims(), (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(floats(results[1]), (Floats{2, 20, 6, 60, 12, 120}));
}

TEST(ReferenceScan, GoesBackwardsAndStacksAlongAnyAxis) {
  const std::vector<std::int64_t> one = {1};
  const Graph graph = Scanning().graph(
      {{"scan_input_directions", one}, {"scan_output_directions", one}, {"scan_output_axes", one}});
  const auto results =
      reference::Interpreter(graph).run({Tensor::of_float({2}, {0, 0}), kMatrix, scalar(1)});
  // Sums from the right: 3, 5, 6; put in front of each other: 6, 5, 3.
  EXPECT_EQ(results[1].tensor()->dims(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(floats(results[1]), (Floats{6, 5, 3, 60, 50, 30}));
}

TEST(ReferenceScan, OfOpsetEightScansEverySampleToItsOwnLength) {
  GraphBuilder builder("scan8", 0, 8);
  const ValueId lengths = builder.input("lengths", DataType::Int64, Shape{2});
  const ValueId state = builder.input("state", DataType::Float32, Shape{2, 1});
  const ValueId values = builder.input("values", DataType::Float32, Shape{2, 3, 1});
  Body body(8);
  const ValueId before = body.input(DataType::Float32, Shape{1});
  const ValueId sum = body.node("Add", {before, body.input(DataType::Float32, Shape{1})});
  const auto outputs = builder.node_with_outputs(
      "Scan", "scan", {lengths, state, values}, 2,
      {{"body", body.output(sum).output(sum).finish()}, {"num_scan_inputs", std::int64_t{1}}});
  builder.output(outputs[0], "last");
  builder.output(outputs[1], "all");
  const Graph graph = builder.finish();
  const auto results = reference::Interpreter(graph).run(
      {Tensor::of_int64({2}, {3, 2}), Tensor::of_float({2, 1}, {0, 0}),
       Tensor::of_float({2, 3, 1}, {1, 2, 3, 10, 20, 30})});
  EXPECT_EQ(floats(results[0]), (Floats{6, 30}));
  EXPECT_EQ(floats(results[1]), (Floats{1, 3, 6, 10, 30, 0}));
}

TEST(ReferenceSequenceMap, MapsElementsAndPassesTensorsWhole) {
  GraphBuilder builder("map");
  const ValueId a = builder.input("a", DataType::Float32, Shape{1});
  const ValueId b = builder.input("b", DataType::Float32, Shape{2});
  const ValueId list = builder.node("SequenceConstruct", "list", {a, b});
  Body body;
  const ValueId element = body.input(DataType::Float32);
  body.output(body.node("Mul", {element, body.input(DataType::Float32)}));
  const ValueId mapped = builder.node("SequenceMap", "map", {list, a}, {{"body", body.finish()}});
  builder.output(mapped, "y");
  const Graph graph = builder.finish();
  const auto results = reference::Interpreter(graph).run(
      {Tensor::of_float({1}, {3}), Tensor::of_float({2}, {4, 5})});
  const auto* sequence = results[0].sequence();
  ASSERT_NE(sequence, nullptr);
  ASSERT_EQ(sequence->size(), 2u);
  EXPECT_EQ(floats((*sequence)[0]), Floats{9});
  EXPECT_EQ(floats((*sequence)[1]), (Floats{12, 15}));
}

TEST(ReferenceSequences, ASequenceReadTwiceStaysWhatItWas) {
  GraphBuilder builder("twice");
  const ValueId a = builder.input("a", DataType::Float32, Shape{1});
  const ValueId list = builder.node("SequenceConstruct", "list", {a});
  const ValueId longer = builder.node("SequenceInsert", "longer", {list, a});
  builder.output(builder.node("SequenceLength", "one", {list}), "n1");
  builder.output(builder.node("SequenceLength", "two", {longer}), "n2");
  const Graph graph = builder.finish();
  const auto results = reference::Interpreter(graph).run({Tensor::of_float({1}, {3})});
  EXPECT_EQ(results[0].tensor()->to_int64().front(), 1);
  EXPECT_EQ(results[1].tensor()->to_int64().front(), 2);
}

TEST(ReferenceSequences, PositionsOutsideAreRefused) {
  GraphBuilder builder("outside");
  const ValueId a = builder.input("a", DataType::Float32, Shape{1});
  const ValueId at = builder.input("at", DataType::Int64, Shape{});
  const ValueId list = builder.node("SequenceConstruct", "list", {a, a});
  builder.output(builder.node("SequenceAt", "pick", {list, at}), "y");
  const Graph graph = builder.finish();
  const reference::Interpreter interpreter(graph);
  const Tensor one = Tensor::of_float({1}, {3});
  EXPECT_EQ(floats(interpreter.run({one, count(-2)})[0]), Floats{3});
  EXPECT_THROW(interpreter.run({one, count(2)}), Error);
  EXPECT_THROW(interpreter.run({one, count(-3)}), Error);
}

TEST(ReferenceOptionals, AnEmptyOneHasNoElement) {
  GraphBuilder builder("optional");
  const ValueId a = builder.input("a", DataType::Float32, Shape{1});
  const ValueId full = builder.node("Optional", "full", {a});
  const ValueId empty = builder.node("Optional", "empty", {});
  builder.output(builder.node("OptionalHasElement", "has", {full}), "y");
  builder.output(builder.node("OptionalHasElement", "has_not", {empty}), "n");
  builder.output(builder.node("OptionalGetElement", "get", {full}), "x");
  const Graph graph = builder.finish();
  const auto results = reference::Interpreter(graph).run({Tensor::of_float({1}, {3})});
  EXPECT_EQ(*results[0].tensor(), truth(true));
  EXPECT_EQ(*results[1].tensor(), truth(false));
  EXPECT_EQ(floats(results[2]), Floats{3});
}

TEST(ReferenceDepth, BodiesWithinBodiesEndSomewhere) {
  Body innermost;
  innermost.output(innermost.constant(truth(true)));
  GraphPtr body = innermost.finish();
  for (int depth = 0; depth < 100; ++depth) {
    Body around;
    const ValueId condition = around.constant(truth(true));
    around.output(around.node("If", {condition}, {{"then_branch", body}, {"else_branch", body}}));
    body = around.finish();
  }
  EXPECT_THROW(reference::Interpreter{*body}, Error);
}

}  // namespace
}  // namespace assay
