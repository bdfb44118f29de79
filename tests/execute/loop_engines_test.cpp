// Loop and Scan on the fast engine, whose bodies are compiled: against the interpreter.
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "body_maker.h"
#include "same_results.h"

namespace assay {
namespace {

using test::Body;
using test::Content;
using test::error_of;
using test::expect_same_results;
using test::truth;

Tensor whole(std::int64_t number) {
  return Tensor::of_int64({}, {number});
}

// A while-loop as tf2onnx writes it: a counter, a limit that is carried along, weights that are
// carried but never change, time slices of a captured sequence, and a slice collected each round.
struct WhileLoop {
  std::int64_t steps = 6;
  std::int64_t units = 40;
  std::int64_t start = 0;
  bool has_known_limit = true;

  GraphPtr body(ValueId sequence) const {
    Body body;
    body.input(DataType::Int64, Shape{});
    body.input(DataType::Bool, Shape{});
    const ValueId counter = body.input(DataType::Int32, Shape{});
    const ValueId state = body.input(DataType::Float32);
    const ValueId weights = body.input(DataType::Float32);
    const ValueId recurrent = body.input(DataType::Float32);
    const ValueId limit = body.input(DataType::Int32, Shape{});
    const std::int32_t one = 1;
    const ValueId next = body.node("Add", {counter, body.constant(Tensor::of<std::int32_t>(
                                                        DataType::Int32, {}, std::span(&one, 1)))});
    const ValueId slice = body.node("Gather", {body.capture(sequence), counter});
    const ValueId products = body.node("MatMul", {slice, weights});
    const ValueId before = body.node("MatMul", {state, recurrent});
    const ValueId after = body.node("Tanh", {body.node("Add", {products, before})});
    body.output(body.node("Less", {next, limit}));
    return body.output(next)
        .output(after)
        .output(body.node("Identity", {weights}))
        .output(recurrent)
        .output(limit)
        .output(body.node("Identity", {after}))
        .finish();
  }

  Graph graph() const {
    GraphBuilder builder("net", 0, 15);
    const ValueId x = builder.input("x", DataType::Float32, Shape{steps, 2, 8});
    const auto number = [](std::int64_t value) {
      const auto narrow = static_cast<std::int32_t>(value);
      return Tensor::of<std::int32_t>(DataType::Int32, {}, std::span(&narrow, 1));
    };
    const ValueId limit = has_known_limit ? builder.constant("limit", number(steps))
                                          : builder.input("limit", DataType::Int32, Shape{});
    const auto results = builder.node_with_outputs(
        "Loop", "loop",
        {ValueId{}, builder.constant("starts", truth(true)),
         builder.constant("zero", number(start)), builder.filled("h", {2, units}, 0.1f),
         builder.weight("w", {8, units}, 0.3), builder.weight("r", {units, units}, 0.1), limit},
        6, {{"body", body(x)}});
    builder.output(results[0], "count");
    builder.output(results[1], "last");
    builder.output(results[2], "weights");
    builder.output(results[5], "all");
    return builder.finish();
  }
};

TEST(LoopEngines, AWhileLoopWithAKnownLimitRunsCompiled) {
  Content content(1);
  for (const std::int64_t start : {0, 2, 5}) {
    const WhileLoop loop{.start = start};
    const Graph graph = loop.graph();
    const Inferred model = infer_shapes(graph);
    EXPECT_EQ(model.graph.value(model.graph.outputs()[3]).type.to_string(),
              "float32[" + std::to_string(6 - start) + "x2x40]");
    expect_same_results(graph, {content.tensor(DataType::Float32, {6, 2, 8}, -1, 1)},
                        "from " + std::to_string(start), 1e-5);
  }
}

// The number of rounds is data: what is collected has an open length.
TEST(LoopEngines, AWhileLoopWhoseLimitIsDataRunsCompiledToo) {
  Content content(2);
  const Graph graph = WhileLoop{.has_known_limit = false}.graph();
  for (const std::int32_t limit : {1, 3, 6}) {
    expect_same_results(graph,
                        {content.tensor(DataType::Float32, {6, 2, 8}, -1, 1),
                         Tensor::of<std::int32_t>(DataType::Int32, {}, std::span(&limit, 1))},
                        "limit " + std::to_string(limit), 1e-5);
  }
}

TEST(LoopEngines, AnIndexThatLeavesItsSequenceIsRefused) {
  Content content(3);
  const Graph graph = WhileLoop{.has_known_limit = false}.graph();
  const std::int32_t limit = 9;
  const std::vector<Tensor> inputs = {
      content.tensor(DataType::Float32, {6, 2, 8}, -1, 1),
      Tensor::of<std::int32_t>(DataType::Int32, {}, std::span(&limit, 1))};
  EXPECT_NE(error_of(graph, inputs, "cpu"), "");
}

// Carried values that change places: none may be overwritten before it is read.
TEST(LoopEngines, CarriedValuesMayChangePlaces) {
  Body body;
  body.input(DataType::Int64, Shape{});
  const ValueId condition = body.input(DataType::Bool, Shape{});
  const ValueId a = body.input(DataType::Float32, Shape{3});
  const ValueId b = body.input(DataType::Float32, Shape{3});
  body.output(body.node("Identity", {condition}));
  body.output(b).output(a).output(body.node("Sub", {a, b}));
  GraphBuilder builder("net", 0, 15);
  const ValueId x = builder.input("x", DataType::Float32, Shape{3});
  const ValueId y = builder.input("y", DataType::Float32, Shape{3});
  const auto results = builder.node_with_outputs(
      "Loop", "loop", {builder.constant("most", whole(5)), ValueId{}, x, y}, 3,
      {{"body", body.finish()}});
  for (std::size_t i = 0; i < 3; ++i) builder.output(results[i], "out" + std::to_string(i));
  expect_same_results(builder.finish(),
                      {Tensor::of_float({3}, {1, 2, 3}), Tensor::of_float({3}, {7, 8, 9})}, "swap");
}

TEST(LoopEngines, ALoopMayRunNotAtAll) {
  Content content(4);
  Body body;
  body.input(DataType::Int64, Shape{});
  const ValueId condition = body.input(DataType::Bool, Shape{});
  const ValueId a = body.input(DataType::Float32, Shape{3});
  body.output(body.node("Identity", {condition})).output(body.node("Add", {a, a}));
  const GraphPtr finished = body.finish();
  for (const bool starts : {false, true}) {
    GraphBuilder builder("net", 0, 15);
    const ValueId most = builder.input("most", DataType::Int64, Shape{});
    const ValueId goes_on = builder.input("goes_on", DataType::Bool, Shape{});
    const ValueId x = builder.input("x", DataType::Float32, Shape{3});
    const auto results =
        builder.node_with_outputs("Loop", "loop", {most, goes_on, x}, 1, {{"body", finished}});
    builder.output(results[0], "y");
    const Graph graph = builder.finish();
    for (const std::int64_t rounds : {-1, 0, 3}) {
      expect_same_results(graph, {whole(rounds), truth(starts), Tensor::of_float({3}, {1, 2, 3})},
                          "rounds " + std::to_string(rounds));
    }
  }
}

// What grows from round to round has no shape to compile for.
TEST(LoopEngines, AShapeThatGrowsIsLeftToTheInterpreter) {
  Body body;
  body.input(DataType::Int64, Shape{});
  const ValueId condition = body.input(DataType::Bool, Shape{});
  const ValueId a = body.input(DataType::Float32);
  body.output(body.node("Identity", {condition}));
  body.output(body.node("Concat", {a, a}, {{"axis", std::int64_t{0}}}));
  GraphBuilder builder("net", 0, 15);
  const ValueId x = builder.input("x", DataType::Float32, Shape{1});
  const auto results =
      builder.node_with_outputs("Loop", "loop", {builder.constant("most", whole(3)), ValueId{}, x},
                                1, {{"body", body.finish()}});
  builder.output(results[0], "y");
  const Inferred model = infer_shapes(builder.finish());
  const auto program = compile(model);
  program->set_inputs(std::vector<Tensor>{Tensor::of_float({1}, {2})});
  program->run();
  EXPECT_EQ(program->results()[0].elements(), 8);
}

TEST(LoopEngines, ScansRunCompiledInBothDirections) {
  Content content(5);
  for (const std::int64_t backwards : {0, 1}) {
    Body body;
    const ValueId sum = body.input(DataType::Float32);
    const ValueId slice = body.input(DataType::Float32);
    const ValueId next = body.node("Add", {sum, slice});
    body.output(next).output(body.node("Mul", {next, slice}));
    GraphBuilder builder("net", 0, 15);
    const ValueId start = builder.input("start", DataType::Float32, Shape{4});
    const ValueId x = builder.input("x", DataType::Float32, Shape{5, 4});
    const auto results = builder.node_with_outputs(
        "Scan", "scan", {start, x}, 2,
        {{"body", body.finish()},
         {"num_scan_inputs", std::int64_t{1}},
         {"scan_input_directions", std::vector<std::int64_t>{backwards}},
         {"scan_output_directions", std::vector<std::int64_t>{1 - backwards}}});
    builder.output(results[0], "last");
    builder.output(results[1], "all");
    expect_same_results(builder.finish(),
                        {content.tensor(DataType::Float32, {4}, -5, 5),
                         content.tensor(DataType::Float32, {5, 4}, -5, 5)},
                        "scan");
  }
}

}  // namespace
}  // namespace assay
