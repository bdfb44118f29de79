// The reference engine as a Program: inputs checked, steps timed, memory told, ops refused.
#include <gtest/gtest.h>

#include <numeric>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/program.h"
#include "body_maker.h"
#include "execute/reference/interpreter.h"
#include "support/error_message.h"

namespace assay {
namespace {

using test::Body;
using test::truth;

std::unique_ptr<Program> reference(Graph graph) {
  return compile(infer_shapes(std::move(graph)), {.engine = "reference"});
}

std::vector<Tensor> results_on(Program& program, const std::vector<Tensor>& inputs) {
  program.set_inputs(inputs);
  program.run();
  return program.results();
}

// z = -(x + y), with names for the two steps.
Graph sum_and_negative() {
  GraphBuilder builder("sum");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId y = builder.input("y", DataType::Float32, Shape{3});
  const ValueId sum = builder.node("Add", "add", {x, y});
  builder.output(builder.node("Neg", "neg", {sum}), "z");
  return builder.finish();
}

const Tensor kSmallMatrix = Tensor::of_float({2, 3}, {1, 2, 3, 4, 5, 6});
const Tensor kRow = Tensor::of_float({3}, {10, 20, 30});

TEST(Reference, ComputesOneStepForEachNode) {
  const auto program = reference(sum_and_negative());
  ASSERT_EQ(program->steps().size(), 2u);
  EXPECT_EQ(program->steps()[0].op, "Add");
  EXPECT_EQ(program->steps()[1].name, "neg");
  EXPECT_EQ(program->steps()[1].algorithm, "reference");
  EXPECT_EQ(program->steps()[1].layers, std::vector<NodeId>{NodeId{1}});
  EXPECT_EQ(program->steps()[0].bytes_read, (2 * 3 + 3) * 4);
  EXPECT_EQ(program->steps()[0].bytes_written, 2 * 3 * 4);
  EXPECT_EQ(program->threads(), 1);
  const auto results = results_on(*program, {kSmallMatrix, kRow});
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{-11, -22, -33, -14, -25, -36}));
}

TEST(Reference, RunsAgainWithOtherInputs) {
  const auto program = reference(sum_and_negative());
  const auto first = results_on(*program, {kSmallMatrix, kRow});
  const auto second = results_on(*program, {kSmallMatrix, Tensor::of_float({3}, {0, 0, 0})});
  EXPECT_EQ(second[0].to_vector<float>(), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
  EXPECT_EQ(first[0].to_vector<float>()[0], -11);  // results of an earlier run stay what they were
}

TEST(Reference, SaysWhichInputDoesNotFit) {
  const auto program = reference(sum_and_negative());
  EXPECT_EQ(error_message([&] { program->set_inputs(std::vector{kSmallMatrix}); }),
            "the model takes 2 inputs, 1 are given");
  EXPECT_EQ(error_message([&] {
              program->set_inputs(std::vector{kSmallMatrix, kSmallMatrix});
            }),
            "input 'y' should be float32[3], float32[2x3] is given");
  const Tensor whole = Tensor::of_int64({3}, {1, 2, 3});
  EXPECT_EQ(error_message([&] {
              program->set_inputs(std::vector{kSmallMatrix, whole});
            }),
            "input 'y' should be float32[3], int64[3] is given");
  EXPECT_EQ(error_message([&] { program->run(); }), "set the inputs before running the program");
}

TEST(Reference, InputsMustHaveKnownShapes) {
  GraphBuilder builder("open");
  const ValueId x = builder.input("x", DataType::Float32, Shape{Dim::symbol("batch"), 3});
  builder.output(builder.node("Relu", "relu", {x}), "y");
  EXPECT_EQ(error_message([&] { reference(builder.finish()); }),
            "input 'x' is float32[batchx3]: a program takes tensors of known shape");
}

TEST(Reference, AnOpWithoutKernelIsRefusedBeforeRunning) {
  GraphBuilder builder("strange");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2});
  builder.output(builder.node("Frobnicate", "frob", {x}), "y");
  EXPECT_EQ(error_message([&] { reference(builder.finish()); }),
            "Frobnicate 'frob': no kernel for this op; assay can count this model but not run it: "
            "`assay count`");
}

TEST(Reference, AnOpWithoutKernelInsideABodyIsRefusedToo) {
  GraphBuilder builder("strange");
  const ValueId condition = builder.input("c", DataType::Bool, Shape{});
  const ValueId x = builder.input("x", DataType::Float32, Shape{2});
  Body strange;
  strange.output(strange.node("Frobnicate", {strange.capture(x)}));
  Body plain;
  plain.output(plain.node("Neg", {plain.capture(x)}));
  builder.output(builder.node("If", "choose", {condition},
                              {{"then_branch", strange.finish()}, {"else_branch", plain.finish()}}),
                 "y");
  EXPECT_NE(error_message([&] { reference(builder.finish()); }).find("Frobnicate"),
            std::string::npos);
}

TEST(Reference, StepTimesSumToNoMoreThanTheRun) {
  const auto program = reference(sum_and_negative());
  program->observe_steps(true);
  for (int i = 0; i < 3; ++i) results_on(*program, {kSmallMatrix, kRow});
  const auto steps = program->step_nanoseconds();
  ASSERT_EQ(steps.size(), 2u);
  const auto sum = std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, program->run_nanoseconds());
  program->reset_step_times();
  EXPECT_EQ(program->run_nanoseconds(), 0);
  EXPECT_EQ(program->step_nanoseconds()[0], 0);
  program->observe_steps(false);
  results_on(*program, {kSmallMatrix, kRow});
  EXPECT_EQ(program->run_nanoseconds(), 0);
}

TEST(Reference, MemoryIsWhatValuesTookAtOnce) {
  const auto program = reference(sum_and_negative());
  EXPECT_EQ(program->memory().weight_bytes, 0);
  results_on(*program, {kSmallMatrix, kRow});
  // While Add runs: x and y of the caller and the sum. x and y end there, Neg needs less.
  EXPECT_EQ(program->memory().arena_bytes, (6 + 3 + 6) * 4);
  EXPECT_GT(program->memory().planned_arena_bytes, 0);
}

TEST(Reference, ViewsAndWeightsTakeNoMemoryOfTheirOwn) {
  GraphBuilder builder("views");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId weight = builder.constant("w", Tensor::of_float({3}, {1, 1, 1}));
  const ValueId flat = builder.node("Flatten", "flat", {x}, {{"axis", std::int64_t{0}}});
  const ValueId row = builder.node("Reshape", "row", {flat, builder.ints("shape", {2, 3})});
  builder.output(builder.node("Mul", "mul", {row, weight}), "y");
  const auto program = reference(builder.finish());
  results_on(*program, {kSmallMatrix});
  EXPECT_EQ(program->memory().weight_bytes, 3 * 4 + 2 * 8);
  EXPECT_EQ(program->memory().arena_bytes, (6 + 6) * 4);
}

TEST(Reference, ShapesMayDependOnData) {
  GraphBuilder builder("data");
  const ValueId x = builder.input("x", DataType::Float32, Shape{4});
  const ValueId places = builder.node("NonZero", "where", {x});
  const ValueId flat = builder.node("Reshape", "flat", {places, builder.ints("all", {-1})});
  builder.output(builder.node("Gather", "pick", {x, flat}), "y");
  const auto program = reference(builder.finish());
  const auto two = results_on(*program, {Tensor::of_float({4}, {0, 5, 0, 7})});
  EXPECT_EQ(two[0].to_vector<float>(), (std::vector<float>{5, 7}));
  const auto none = results_on(*program, {Tensor::of_float({4}, {0, 0, 0, 0})});
  EXPECT_EQ(none[0].dims(), std::vector<std::int64_t>{0});
}

TEST(Reference, AResultThatCannotFitIsRefused) {
  GraphBuilder builder("huge");
  const ValueId dims = builder.input("dims", DataType::Int64, Shape{2});
  builder.output(builder.node("ConstantOfShape", "fill", {dims}), "y");
  const auto program = reference(builder.finish());
  const Tensor huge = Tensor::of_int64({2}, {std::int64_t{1} << 25, std::int64_t{1} << 25});
  const std::string error = error_message([&] { results_on(*program, {huge}); });
  EXPECT_NE(error.find("ConstantOfShape 'fill' takes 4.00 PiB, but only"), std::string::npos)
      << error;
  EXPECT_EQ(error_message([&] { program->results(); }),
            "run the program before asking for its results");
  const auto small = results_on(*program, {Tensor::of_int64({2}, {1, 2})});
  EXPECT_EQ(small[0].to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Reference, AKernelsComplaintNamesTheNode) {
  GraphBuilder builder("bad");
  const ValueId x = builder.input("x", DataType::Int64, Shape{2});
  const ValueId y = builder.input("y", DataType::Int64, Shape{2});
  builder.output(builder.node("Div", "ratio", {x, y}), "z");
  const auto program = reference(builder.finish());
  const Tensor ones = Tensor::of_int64({2}, {1, 1});
  EXPECT_EQ(error_message([&] {
              results_on(*program, {ones, Tensor::of_int64({2}, {1, 0})});
            }),
            "Div 'ratio': integer division by zero");
}

TEST(NodeEvaluator, RunsOneNodeWithWhatItsBodiesCapture) {
  GraphBuilder builder("one");
  const ValueId condition = builder.input("c", DataType::Bool, Shape{});
  const ValueId x = builder.input("x", DataType::Float32, Shape{3});
  Body yes;
  yes.output(yes.node("Neg", {yes.capture(x)}));
  Body no;
  no.output(no.capture(x));
  builder.output(builder.node("If", "choose", {condition},
                              {{"then_branch", yes.finish()}, {"else_branch", no.finish()}}),
                 "y");
  const Graph graph = builder.finish();
  const reference::NodeEvaluator node(graph, NodeId{0});
  const auto result = node.run([&](ValueId id) { return id == condition ? truth(true) : kRow; });
  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(result[0].to_vector<float>(), (std::vector<float>{-10, -20, -30}));
}

}  // namespace
}  // namespace assay
