// What a Program promises, on the fast engine.
#include "assay/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/zoo.h"
#include "execute/body_maker.h"
#include "execute/compare_engines.h"
#include "execute/preferred_choice.h"
#include "support/error_message.h"

namespace assay {
namespace {

std::unique_ptr<Program> compiled(const std::string& zoo, ProgramOptions options = {}) {
  return compile(infer_shapes(zoo_model(zoo)), options);
}

TEST(CpuProgram, FusesTheLayersOfASmallNetworkAndNamesThem) {
  const auto program = compiled("small_cnn_gap");
  std::vector<StepInfo> steps = program->steps();
  std::erase_if(steps, [](const StepInfo& step) { return step.op == "Reorder"; });
  ASSERT_EQ(steps.size(), 6u);  // conv+relu, pool, conv+relu, pool, global pool, linear
  const StepInfo& first = steps[0];
  EXPECT_EQ(first.name, "conv1");
  EXPECT_EQ(first.layers, (std::vector{NodeId{0}, NodeId{1}}));
  EXPECT_FALSE(first.algorithm.empty());
  for (const StepInfo& step : program->steps()) EXPECT_EQ(step.fell_back, "");
}

TEST(CpuProgram, EveryLayerBelongsToExactlyOneStepUnlessItMovesNothing) {
  const Inferred model = infer_shapes(zoo_model("resnet18"));
  const auto program = compile(model, {});
  std::vector<int> times(model.graph.node_count(), 0);
  for (const StepInfo& step : program->steps()) {
    if (step.op == "Reorder") continue;
    for (const NodeId layer : step.layers) ++times[layer.number];
  }
  for (std::uint32_t i = 0; i < times.size(); ++i) {
    const bool is_view = model.graph.node(NodeId{i}).is("Flatten");
    EXPECT_EQ(times[i], is_view ? 0 : 1) << model.graph.display_name(NodeId{i});
  }
}

TEST(CpuProgram, StepsNeverTakeLongerThanTheRunTheyArePartOf) {
  const auto program = compiled("lenet5");
  program->set_inputs(random_inputs(program->inputs()));
  program->observe_steps(true);
  for (int i = 0; i < 5; ++i) program->run();
  const auto steps = program->step_nanoseconds();
  const auto sum = std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, program->run_nanoseconds());
  program->reset_step_times();
  EXPECT_EQ(program->run_nanoseconds(), 0);
}

TEST(CpuProgram, RepeatedRunsGiveTheSameBits) {
  const auto program = compiled("small_cnn");
  program->set_inputs(random_inputs(program->inputs(), 3));
  program->run();
  const auto first = program->results();
  for (int i = 0; i < 3; ++i) program->run();
  EXPECT_EQ(program->results(), first);
}

TEST(CpuProgram, RefusesInputsOfTheWrongShapeOrType) {
  const auto program = compiled("mlp");
  const auto shape = program->inputs()[0].type.shape->values();
  const std::vector<Tensor> short_one = {Tensor::of_float({1, 3}, {1, 2, 3})};
  EXPECT_NE(error_message([&] { program->set_inputs(short_one); }).find("input 'input' should be"),
            std::string::npos);
  const std::vector<Tensor> integers = {Tensor::of_int64(shape, std::vector<std::int64_t>(784, 1))};
  EXPECT_NE(error_message([&] { program->set_inputs(integers); }).find("int64"), std::string::npos);
  EXPECT_NE(error_message([&] { program->set_inputs({}); }).find("takes 1 inputs"),
            std::string::npos);
}

TEST(CpuProgram, RefusesAbsurdThreadCounts) {
  for (const int threads : {-1, 1'000'000}) {
    EXPECT_NE(
        error_message([&] { compiled("mlp", {.cpu = {.threads = threads}}); }).find("threads"),
        std::string::npos);
  }
}

TEST(CpuProgram, RefusesMoreMemoryThanThereIsBeforeTakingAny) {
  GraphBuilder builder("huge");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1 << 20, 1 << 20});
  builder.output(Relu()(builder, x), "y");
  const Inferred model = infer_shapes(builder.finish());
  EXPECT_NE(error_message([&] { compile(model); }).find("of memory are free"), std::string::npos);
}

TEST(CpuProgram, RunsOnTensorsWithoutElements) {
  GraphBuilder builder("empty");
  const ValueId x = builder.input("x", DataType::Float32, Shape{0, 4});
  builder.output(Relu()(builder, x), "y");
  const auto program = compile(infer_shapes(builder.finish()));
  program->set_inputs(random_inputs(program->inputs()));
  program->run();
  EXPECT_EQ(program->results()[0].dims(), (std::vector<std::int64_t>{0, 4}));
}

TEST(CpuProgram, LetsNanAndInfinityFlowAsThePlainKernelsDo) {
  const Inferred model = infer_shapes(zoo_model("small_cnn"));
  const auto fast = compile(model, {});
  const auto reference = compile(model, {.engine = "reference"});
  auto inputs = random_inputs(fast->inputs());
  auto numbers = inputs[0].to_vector<float>();
  numbers[100] = std::numeric_limits<float>::quiet_NaN();
  numbers[300] = std::numeric_limits<float>::infinity();
  inputs[0] = Tensor::of_float(inputs[0].dims(), numbers);
  for (Program* program : {fast.get(), reference.get()}) {
    program->set_inputs(inputs);
    program->run();
  }
  EXPECT_TRUE(std::isnan(reference->results()[0].to_double()[0]));
  EXPECT_TRUE(compare_results(fast->results(), reference->results()).same_non_finite);
}

TEST(CpuProgram, DoesNotAddIntoWhatTheConvolutionIsStillReading) {
  GraphBuilder builder("residual");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 16, 6, 6});
  const auto convolution = [&](const std::string& name, ValueId from) {
    return builder.node("Conv", name, {from, builder.weight(name + ".w", {16, 16, 3, 3}, 0.1)},
                        {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  };
  const ValueId first = convolution("first", x);
  builder.output(builder.node("Add", "sum", {convolution("second", first), first}), "y");
  EXPECT_LE(compare_engines(builder.finish()).largest, 1e-5);
}

TEST(CpuProgram, DoesNotOverwriteAnOutputThroughAViewOfIt) {
  GraphBuilder builder("views");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 16, 6, 6});
  const ValueId inner = builder.node("Conv", "conv", {x, builder.weight("w", {16, 16, 3, 3}, 0.1)});
  const std::vector<std::int64_t> order = {0, 1, 3, 2};
  const ValueId transposed = builder.node("Transpose", "transposed", {inner}, {{"perm", order}});
  const ValueId back = builder.node("Transpose", "back", {transposed}, {{"perm", order}});
  builder.output(builder.node("Tanh", "curve", {back}), "y");
  builder.output(inner, "inner");
  EXPECT_LE(compare_engines(builder.finish()).largest, 1e-5);
}

TEST(CpuProgram, TwoActivationsOfOneKindKeepTheirOwnNumbers) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3, 1, 1});
  const ValueId weight = builder.weight("w", {16, 3, 1, 1}, 1.0);
  const ValueId product = builder.node("Conv", "conv", {x, weight});
  const ValueId leaky = builder.node("LeakyRelu", "leaky", {product});
  builder.output(Relu()(builder, leaky), "y");
  EXPECT_LE(compare_engines(builder.finish()).largest, 1e-6);
}

// On AArch64 oneDNN multiplies by plain loops, whatever it calls them.
TEST(CpuProgram, MultipliesByPanelsWhereTheLibraryHasPlainLoops) {
#if !defined(__aarch64__)
  GTEST_SKIP() << "oneDNN generates products for this processor";
#endif
  for (const std::int64_t rows : {1, 16, 100}) {
    GraphBuilder builder("net");
    const ValueId x = builder.input("x", DataType::Float32, Shape{rows, 96});
    builder.output(builder.node("MatMul", "product", {x, builder.weight("w", {96, 80}, 0.1)}), "y");
    const auto program = compile_preferring("fp32 panels", infer_shapes(builder.finish()), {});
    EXPECT_EQ(program->steps().front().algorithm, "fp32 panels") << rows << " rows";
  }
}

TEST(CpuProgram, FallsBackToThePlainKernelAndSaysSo) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId marks = builder.node("Hardmax", "marks", {x});
  builder.output(Relu()(builder, marks), "y");
  const Graph graph = builder.finish();
  const auto program = compile(infer_shapes(graph));
  EXPECT_NE(program->steps()[0].fell_back.find("Hardmax"), std::string::npos);
  EXPECT_LE(compare_engines(graph).largest, 1e-6);
}

// x, or what a convolution with a captured weight makes of it, or of a sum with a capture that is
// computed: two branches, one of which holds another choice.
Graph choosing_network() {
  GraphBuilder builder("choices");
  const ValueId outer = builder.input("outer", DataType::Bool, Shape{});
  const ValueId inner = builder.input("inner", DataType::Bool, Shape{});
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 4, 6, 6});
  std::vector<float> numbers(4 * 4 * 3 * 3);
  std::iota(numbers.begin(), numbers.end(), -70.0f);
  const ValueId weight = builder.constant("w", Tensor::of_float({4, 4, 3, 3}, numbers));
  const ValueId positive = Relu()(builder, x);
  const std::vector<Attribute> padded = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  test::Body convolves;
  convolves.output(
      convolves.node("Conv", {convolves.capture(positive), convolves.capture(weight)}, padded));
  test::Body chooses;
  const ValueId captured = chooses.capture(x);
  const ValueId doubled = chooses.node("Add", {captured, chooses.capture(positive)});
  test::Body adds;
  adds.output(adds.node("Add", {adds.capture(captured), adds.capture(doubled)}));
  test::Body stays;
  stays.output(stays.capture(captured));
  chooses.output(chooses.node("If", {chooses.capture(inner)},
                              {{"then_branch", adds.finish()}, {"else_branch", stays.finish()}}));
  const ValueId chosen =
      builder.node("If", "choose", {outer},
                   {{"then_branch", convolves.finish()}, {"else_branch", chooses.finish()}});
  builder.output(builder.node("Neg", "negative", {chosen}), "y");
  return builder.finish();
}

TEST(CpuProgram, CompilesBothBranchesOfAChoice) {
  const Inferred model = infer_shapes(choosing_network());
  const auto fast = compile(model);
  const auto slow = compile(model, {.engine = "reference"});
  const auto step = std::ranges::find(fast->steps(), "If", &StepInfo::op);
  ASSERT_NE(step, fast->steps().end());
  EXPECT_EQ(step->algorithm, "compiled branches");
  EXPECT_EQ(step->fell_back, "");
  EXPECT_GT(step->executed_flops, 0);
  EXPECT_GE(fast->memory().weight_bytes, 4 * 4 * 3 * 3 * 4);
  const Tensor x = random_inputs(fast->inputs())[2];
  for (const bool outer : {true, false}) {
    for (const bool inner : {true, false}) {
      std::vector<Tensor> inputs = {test::truth(outer), test::truth(inner), x};
      for (Program* program : {fast.get(), slow.get()}) {
        program->set_inputs(inputs);
        program->run();
      }
      const Difference difference = compare_results(fast->results(), slow->results());
      EXPECT_LE(difference.largest, 1e-6) << outer << inner;
      EXPECT_TRUE(difference.same_shapes);
    }
  }
}

TEST(CpuProgram, RunsWhatOnlyTheDataKnowsTheShapeOf) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{4, 4});
  const ValueId positive = builder.node("Relu", "positive", {x});
  const ValueId where = builder.node("NonZero", "where", {positive});
  const ValueId counted = builder.node("Cast", "counted", {where}, {{"to", std::int64_t{1}}});
  builder.output(builder.node("ReduceSum", "sum", {counted}, {{"keepdims", std::int64_t{0}}}), "y");
  EXPECT_EQ(compare_engines(builder.finish()).largest, 0);
}

TEST(CpuProgram, ReducesAnyAxesFast) {
  const std::vector<std::pair<Shape, std::vector<std::int64_t>>> cases = {
      {Shape{300, 200}, {0}},
      {Shape{4, 5, 6, 7}, {0, 2, 3}},
      {Shape{4, 5, 6, 7}, {0, 3}},
      {Shape{3, 40, 70}, {1}},
      {Shape{2, 3, 4, 5, 6}, {0, 2, 4}},
      {Shape{17, 1, 130}, {0, 1}},
      {Shape{16, 8, 32, 32}, {0, 2, 3}},
      {Shape{5, 6, 7}, {0, 1, 2}}};
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"}) {
    for (const auto& [shape, axes] : cases) {
      GraphBuilder builder("net", 0, 18);
      const ValueId x = builder.input("x", DataType::Float32, shape);
      builder.output(builder.node(op, "reduce", {x, builder.ints("axes", axes)}), "y");
      const Graph graph = builder.finish();
      expect_same_on_any_threads(graph, random_inputs(compile(infer_shapes(graph))->inputs(), 4));
    }
  }
}

TEST(CpuProgram, TakesNoMoreMemoryForWeightsThanTheModelWhenAskedTo) {
  const auto program = compiled("small_cnn", {.optimize_for = OptimizeFor::Memory});
  EXPECT_LE(program->memory().weight_bytes, program->memory().planned_weight_bytes + 64 * 16);
}

TEST(CpuProgram, CountsWeightsThatItReadsWhereTheModelKeepsThem) {
  for (const char* model : {"mlp", "small_cnn", "lstm", "encoder:layers=1", "mobilenet_v2"}) {
    const auto program = compiled(model, {.optimize_for = OptimizeFor::Memory});
    std::int64_t read = 0;  // none of these models uses a weight twice
    for (const StepInfo& step : program->steps()) read += step.weight_bytes;
    EXPECT_GE(program->memory().weight_bytes, read) << model;
  }
}

// A factor for each channel, as squeeze-and-excitation has it: what convolutions leave behind lies
// in blocks of channels, or with channels last.
TEST(ElementWise, ScalesChannelsWhereverTheyLie) {
  for (const std::int64_t channels : {1, 7, 16, 24, 48, 104, 300}) {
    for (const std::int64_t groups : {std::int64_t{1}, channels}) {
      GraphBuilder builder("excitation");
      const ValueId x = builder.input("x", DataType::Float32, Shape{2, channels, 9, 11});
      const ValueId w = builder.weight("w", {channels, channels / groups, 3, 3}, 0.1);
      const std::vector<std::int64_t> pads = {1, 1, 1, 1};
      const ValueId inside =
          builder.node("Conv", "conv", {x, w}, {{"pads", pads}, {"group", groups}});
      const ValueId pooled = builder.node("GlobalAveragePool", "pool", {inside});
      const ValueId scale = builder.node("Sigmoid", "gate", {pooled});
      const ValueId scaled = builder.node("Mul", "scale", {scale, inside});
      const ValueId shift = builder.weight("shift", {channels, 1, 1}, 0.1);
      const ValueId shifted = builder.node("Sub", "shifted", {shift, scaled});
      builder.output(
          builder.node("Conv", "last", {shifted, w}, {{"pads", pads}, {"group", groups}}), "y");
      const Difference difference = compare_engines(builder.finish(), {.cpu = {.threads = 2}});
      EXPECT_TRUE(difference.same_shapes);
      // Two convolutions of up to 2,700 terms, by whichever algorithm was the fastest.
      EXPECT_LT(difference.largest, 1e-4) << channels << " channels, " << groups << " groups";
    }
  }
}

// 2x2 windows over 7 or 8 rows and columns: of 7 one is left over.
TEST(Pooling, IsFastWhereTheLastPositionsAreLeftOver) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const std::int64_t side : {7, 8}) {
      GraphBuilder builder("pools");
      const ValueId input = builder.input("x", DataType::Float32, Shape{2, 5, side, side});
      const std::vector<std::int64_t> two = {2, 2};
      builder.output(builder.node(op, "pool", {input}, {{"kernel_shape", two}, {"strides", two}}),
                     "y");
      const Graph graph = builder.finish();
      const Difference difference = compare_engines(graph);
      EXPECT_TRUE(difference.same_shapes);
      EXPECT_LT(difference.largest, 1e-6) << op << " " << side;
      const auto program = compile(infer_shapes(graph));
      for (const StepInfo& step : program->steps()) EXPECT_EQ(step.fell_back, "") << op << side;
    }
  }
}

// Bytes of buffers without a value, at the step that has most of them.
std::int64_t most_workspace(const Program& program) {
  std::vector<std::int64_t> by_step(program.steps().size(), 0);
  for (const ProgramBuffer& buffer : program.buffers()) {
    if (buffer.value.is_valid()) continue;
    for (std::size_t i = buffer.first_step; i <= buffer.last_step; ++i) by_step[i] += buffer.bytes;
  }
  return std::ranges::max(by_step);
}

TEST(CpuProgram, TellsTheWorkspaceOfItsAlgorithms) {
  const auto lstm = compiled("lstm", {.cpu = {.threads = 1}});
  const ProgramMemory memory = lstm->memory();
  EXPECT_GT(memory.workspace_bytes, 0);
  EXPECT_LE(memory.workspace_bytes, memory.arena_bytes);
  EXPECT_EQ(memory.workspace_bytes, most_workspace(*lstm));
  GraphBuilder builder("relu");
  builder.output(Relu()(builder, builder.input("x", DataType::Float32, Shape{2, 3})), "y");
  EXPECT_EQ(compile(infer_shapes(builder.finish()), {})->memory().workspace_bytes, 0);
}

}  // namespace
}  // namespace assay
