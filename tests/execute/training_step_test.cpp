// A step of training on both engines: the same state afterwards, and the loss goes down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "assay/bind.h"
#include "assay/builder.h"
#include "assay/cost.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/memory.h"
#include "assay/program.h"
#include "assay/training_step.h"
#include "assay/zoo.h"
#include "compare_engines.h"

namespace assay {
namespace {

Inferred network(const std::string& name, std::int64_t batch) {
  return infer_shapes(bind_inputs(zoo_model(name), {.batch = batch}).graph);
}

TrainingStep step_of(const Inferred& model, const TrainingStepOptions& options) {
  return training_step(model, trainable_parameters(model), options);
}

std::vector<Tensor> initial_state(const TrainingStep& step) {
  std::vector<Tensor> state;
  for (const StateSlot& slot : step.state) state.push_back(slot.initial);
  return state;
}

// Numbers below 30, some of them more than once.
Tensor some_words(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> words;
  for (std::int64_t i = 0; i < Shape(dims).elements(); ++i) words.push_back(i * i * 11 % 30);
  return Tensor::of_int64(dims, words);
}

// The rate, the number of the step, words and labels are not random.
std::vector<Tensor> inputs_for(const Program& program, float rate, std::int64_t number) {
  auto inputs = random_inputs(program.inputs(), 3);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = program.inputs()[i].name;
    if (name == "learning_rate") inputs[i] = Tensor::of_float({}, {rate});
    if (name == "words") inputs[i] = some_words(inputs[i].dims());
    if (name == "step") inputs[i] = Tensor::of_int64({}, {number});
    if (name != "labels") continue;
    std::vector<std::int64_t> labels;
    for (std::int64_t j = 0; j < inputs[i].elements(); ++j) labels.push_back(j * 7 % 10);
    inputs[i] = Tensor::of_int64(inputs[i].dims(), labels);
  }
  return inputs;
}

std::unique_ptr<Program> program_of(const TrainingStep& step, const std::string& engine,
                                    int threads = 1) {
  auto program = compile(infer_shapes(step.graph), {.engine = engine, .cpu = {.threads = threads}});
  program->set_state(initial_state(step));
  return program;
}

double run_once(Program& program, float rate, std::int64_t number) {
  program.set_inputs(inputs_for(program, rate, number));
  program.run();
  return program.results().front().to_double().front();
}

struct EngineCase {
  std::string network;
  OptimizerKind optimizer = OptimizerKind::Sgd;
  Loss loss = Loss::CrossEntropy;
  int threads = 1;
};

void PrintTo(const EngineCase& one, std::ostream* out) {
  *out << one.network << " " << name(one.optimizer) << " " << name(one.loss) << " " << one.threads;
}

class TrainingStepEngines : public testing::TestWithParam<EngineCase> {};

// Adam divides by the size of the gradient: an epsilon well above rounding keeps what is nothing
// but rounding from becoming a whole step.
TEST_P(TrainingStepEngines, LeaveTheSameStateAfterThreeSteps) {
  const EngineCase one = GetParam();
  const Inferred model = network(one.network, 4);
  const TrainingStep step =
      step_of(model, {.loss = one.loss,
                      .optimizer = {.kind = one.optimizer, .epsilon = 1e-3, .weight_decay = 0.01}});
  const auto fast = program_of(step, "cpu", one.threads);
  const auto plain = program_of(step, "reference");
  for (std::int64_t number = 1; number <= 3; ++number) {
    const double reference = run_once(*plain, 0.001f, number);
    EXPECT_NEAR(run_once(*fast, 0.001f, number), reference, 1e-4 * std::abs(reference) + 1e-5);
  }
  const Difference difference = compare_results(fast->state_values(), plain->state_values());
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_LT(difference.largest, 2e-3) << difference.where;
  for (const StepInfo& info : fast->steps()) {
    EXPECT_EQ(info.fell_back, "") << info.name << " " << info.op;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, TrainingStepEngines,
    testing::Values(EngineCase{"small_cnn"}, EngineCase{"small_cnn", OptimizerKind::Momentum},
                    EngineCase{"small_cnn_gap", OptimizerKind::AdamW, Loss::CrossEntropy, 2},
                    EngineCase{"lenet5", OptimizerKind::Adam},
                    EngineCase{"mlp", OptimizerKind::Adam, Loss::MeanSquaredError, 2},
                    EngineCase{"encoder", OptimizerKind::Momentum, Loss::SumOfSquares, 2},
                    EngineCase{"lstm:length=9,inputs=20,hidden=70", OptimizerKind::Sgd,
                               Loss::SumOfSquares, 2}));

// Both engines, step by step; nothing of the fast one falls back.
void expect_same_training(const Inferred& model, const TrainingStepOptions& options, int threads) {
  const TrainingStep step = step_of(model, options);
  const auto fast = program_of(step, "cpu", threads);
  const auto plain = program_of(step, "reference");
  for (std::int64_t number = 1; number <= 3; ++number) {
    const double reference = run_once(*plain, 0.01f, number);
    EXPECT_NEAR(run_once(*fast, 0.01f, number), reference, 1e-4 * std::abs(reference) + 1e-5);
  }
  const Difference difference = compare_results(fast->state_values(), plain->state_values());
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_LT(difference.largest, 1e-3) << difference.where;
  EXPECT_GT(compare_results(plain->state_values(), initial_state(step)).largest, 0);
  for (const StepInfo& info : fast->steps()) {
    EXPECT_EQ(info.fell_back, "") << info.name << " " << info.op;
  }
}

// Weights are read where they are; rows that fill sixteens and rows that do not.
TEST(TrainingStep, OfLinearLayersIsTheSameForAnyNumberOfRows) {
  for (const std::int64_t rows : {5, 16, 37}) {
    for (const int threads : {1, 2}) {
      GraphBuilder builder("linear", 5, 17);
      const ValueId x = builder.input("x", DataType::Float32, Shape{rows, 50});
      builder.output(Sequential({Linear(50, 530), Relu(), Linear(530, 10)})(builder, x), "y");
      expect_same_training(infer_shapes(builder.finish()), {.loss = Loss::CrossEntropy}, threads);
    }
  }
}

TEST(TrainingStep, WithDropoutsIsFastAndTheSame) {
  for (const int threads : {1, 2}) {
    GraphBuilder builder("dropouts", 5, 17);
    const ValueId images = builder.input("x", DataType::Float32, Shape{4, 3, 9, 9});
    ValueId x = Sequential({Conv2d(3, 16, 3), Relu(), Dropout(0.2f), Conv2d(16, 16, 3), Relu(),
                            Dropout(0.5f), Flatten()})(builder, images);
    x = Sequential({Linear(16 * 5 * 5, 20), Relu(), Dropout(0.4f), Linear(20, 10)})(builder, x);
    builder.output(x, "y");
    const Inferred model = infer_shapes(builder.finish());
    const TrainingStep step = step_of(model, {.loss = Loss::CrossEntropy});
    EXPECT_EQ(std::ranges::count(step.graph.nodes(), "Dropout", &Node::op), 3 + 3);  // and back
    expect_same_training(model, {.loss = Loss::CrossEntropy}, threads);
  }
}

TEST(TrainingStep, WithAnEmbeddingIsFastAndTheSame) {
  for (const int threads : {1, 2}) {
    GraphBuilder builder("embedding", 5, 17);
    const ValueId words = builder.input("words", DataType::Int64, Shape{6, 5});
    const ValueId table = builder.weight("table", {30, 40}, 1);
    ValueId x = builder.node("Gather", "embed", {table, words});
    x = builder.node("Add", "positions", {x, builder.weight("positions", {5, 40}, 1)});
    builder.output(Sequential({Linear(40, 30), Relu(), Linear(30, 11)})(builder, x), "y");
    expect_same_training(infer_shapes(builder.finish()), {.loss = Loss::CrossEntropy}, threads);
  }
}

TEST(TrainingStep, OfScoresForEveryPixelIsFastAndTheSame) {
  for (const int threads : {1, 2}) {
    GraphBuilder builder("pixels", 5, 17);
    const ValueId images = builder.input("x", DataType::Float32, Shape{2, 3, 34, 33});
    builder.output(Sequential({Conv2d(3, 16, 3), Relu(), Conv2d(16, 10, 3)})(builder, images), "y");
    expect_same_training(infer_shapes(builder.finish()), {.loss = Loss::CrossEntropy}, threads);
  }
}

// Up by two and down again, between convolutions whose images lie in blocks.
TEST(TrainingStep, WithResizesIsFastAndTheSame) {
  for (const char* mode : {"nearest", "linear"}) {
    for (const int threads : {1, 2}) {
      GraphBuilder builder("resizes", 5, 17);
      const ValueId images = builder.input("x", DataType::Float32, Shape{4, 3, 6, 6});
      ValueId x = Sequential({Conv2d(3, 16, 3), Relu()})(builder, images);
      x = builder.node(
          "Resize", "up",
          {x, ValueId{}, builder.constant("scales", Tensor::of_float({4}, {1, 1, 2, 2}))},
          {{"mode", std::string(mode)}});
      x = Sequential({Conv2d(16, 20, 3), Relu()})(builder, x);
      x = builder.node("Resize", "down",
                       {x, ValueId{}, ValueId{}, builder.ints("sizes", {4, 20, 4, 3})},
                       {{"mode", std::string(mode)}});
      x = Sequential({Flatten(), Linear(20 * 4 * 3, 10)})(builder, x);
      builder.output(x, "y");
      expect_same_training(infer_shapes(builder.finish()), {.loss = Loss::CrossEntropy}, threads);
    }
  }
}

TEST(TrainingStep, TakesOldFormsOfResizing) {
  for (const std::int64_t opset : {8, 9, 10}) {
    GraphBuilder builder("old", 5, opset);
    const ValueId images = builder.input("x", DataType::Float32, Shape{2, 3, 5, 5});
    const ValueId made =
        builder.node("Conv", "conv", {images, builder.weight("w", {4, 3, 3, 3}, 0.3)});
    const std::vector<float> scales = {1, 1, 2, 3};
    const bool by_attribute = opset < 9;
    std::vector<ValueId> inputs = {made};
    std::vector<Attribute> attributes = {{"mode", std::string("linear")}};
    if (by_attribute) attributes.push_back({"scales", scales});
    if (!by_attribute) inputs.push_back(builder.constant("scales", Tensor::of_float({4}, scales)));
    builder.output(builder.node(opset < 10 ? "Upsample" : "Resize", "up", inputs, attributes), "y");
    expect_same_training(infer_shapes(builder.finish()), {.loss = Loss::SumOfSquares}, 1);
  }
}

TEST(TrainingStep, MakesTheLossSmaller) {
  const TrainingStep step = step_of(network("small_cnn", 8), {.loss = Loss::CrossEntropy});
  const auto program = program_of(step, "cpu");
  const double first = run_once(*program, 0.1f, 1);
  double last = first;
  for (std::int64_t number = 2; number <= 30; ++number) last = run_once(*program, 0.1f, number);
  EXPECT_LT(last, 0.5 * first);
}

TEST(TrainingStep, KeepsRunningStatisticsOfBatchNorms) {
  GraphBuilder builder("norm", 5, 17);
  const ValueId input = builder.input("x", DataType::Float32, Shape{4, 3, 5, 5});
  const ValueId images =
      builder.node("Conv", "conv", {input, builder.weight("w", {16, 3, 3, 3}, 0.3)},
                   {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  builder.output(
      builder.node("BatchNormalization", "norm",
                   {images, builder.filled("scale", {16}, 1), builder.filled("shift", {16}, 0),
                    builder.filled("mean", {16}, 0), builder.filled("variance", {16}, 1)}),
      "y");
  const Inferred model = infer_shapes(builder.finish());
  const TrainingStep step = step_of(model, {});
  std::size_t statistics = 0;
  for (const StateSlot& slot : step.state) {
    statistics += slot.kind == StateSlot::Kind::Statistic ? 1 : 0;
  }
  EXPECT_EQ(statistics, 2u);
  const auto fast = program_of(step, "cpu", 2);
  const auto plain = program_of(step, "reference");
  for (std::int64_t number = 1; number <= 3; ++number) {
    run_once(*fast, 1e-4f, number);
    run_once(*plain, 1e-4f, number);
  }
  const Difference difference = compare_results(fast->state_values(), plain->state_values());
  EXPECT_LT(difference.largest, 1e-3) << difference.where;
}

struct NormCase {
  std::vector<std::int64_t> dims;
  std::int64_t filters = 0;  // of a convolution before the norm; 0: none
  std::string behind = "";   // an op behind the norm; "Sum": a shortcut, then Relu
  int threads = 1;
};

void PrintTo(const NormCase& one, std::ostream* out) {
  *out << testing::PrintToString(one.dims) << " " << one.filters << " filters " << one.behind << " "
       << one.threads;
}

class BatchNormInTraining : public testing::TestWithParam<NormCase> {
 protected:
  static ValueId behind_norm(GraphBuilder& builder, ValueId normed, ValueId images) {
    const std::string& op = GetParam().behind;
    if (op.empty()) return normed;
    if (op != "Sum") return builder.node(op, "behind", {normed});
    return builder.node("Relu", "relu", {builder.node("Add", "sum", {normed, images})});
  }

  // Ends in a product with weights, so that gradients differ from element to element.
  static Graph model() {
    const NormCase& one = GetParam();
    GraphBuilder builder("norm", 5, 17);
    ValueId images = builder.input("x", DataType::Float32, Shape(one.dims));
    std::vector<std::int64_t> dims = one.dims;
    if (one.filters > 0) {
      const ValueId weight = builder.weight("w", {one.filters, dims[1], 3, 3}, 0.3);
      images = builder.node("Conv", "conv", {images, weight},
                            {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
      dims[1] = one.filters;
    }
    const std::int64_t channels = dims[1];
    const ValueId normed = builder.node(
        "BatchNormalization", "norm",
        {images, builder.weight("scale", {channels}, 1), builder.weight("shift", {channels}, 1),
         builder.filled("mean", {channels}, 0), builder.filled("variance", {channels}, 1)});
    dims[0] = 1;
    const ValueId result = behind_norm(builder, normed, images);
    builder.output(builder.node("Mul", "weighted", {result, builder.weight("v", dims, 1)}), "y");
    return builder.finish();
  }
};

TEST_P(BatchNormInTraining, IsThatOfTheReference) {
  const TrainingStep step = step_of(infer_shapes(model()), {});
  const auto fast = program_of(step, "cpu", GetParam().threads);
  const auto plain = program_of(step, "reference");
  const double loss = run_once(*plain, 0.01f, 1);
  EXPECT_NEAR(run_once(*fast, 0.01f, 1), loss, 1e-5 * loss);
  const Difference difference = compare_results(fast->state_values(), plain->state_values());
  EXPECT_LT(difference.largest, 2e-5) << difference.where;
  for (const StepInfo& info : fast->steps()) EXPECT_EQ(info.fell_back, "") << info.name;
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, BatchNormInTraining,
    testing::Values(NormCase{{4, 3, 7, 5}, 16, "Relu"}, NormCase{{4, 3, 7, 5}, 20, "Relu", 2},
                    NormCase{{3, 2, 5, 5}, 33, ""}, NormCase{{2, 3, 9, 9}, 16, "Sum", 2},
                    NormCase{{2, 3, 9, 9}, 24, "HardSwish"}, NormCase{{4, 3, 7, 5}, 0, "Relu", 2},
                    NormCase{{3, 5, 40}, 0, ""}, NormCase{{32, 7}, 0, "Relu"},
                    NormCase{{16, 300}, 0, "", 2}, NormCase{{6, 2, 3, 4, 5}, 0, "Relu"}));

// Channels that only fill up a block have no variance: nothing may be divided by it.
TEST(TrainingStep, NormsWithoutEpsilonStayFinite) {
  GraphBuilder builder("exact", 5, 17);
  const ValueId input = builder.input("x", DataType::Float32, Shape{2, 16, 6, 6});
  const std::vector<std::int64_t> pads = {1, 1, 1, 1};
  const ValueId images = builder.node(
      "Conv", "conv", {input, builder.weight("w", {20, 16, 3, 3}, 0.3)}, {{"pads", pads}});
  const ValueId normed =
      builder.node("BatchNormalization", "norm",
                   {images, builder.filled("scale", {20}, 1), builder.filled("shift", {20}, 0),
                    builder.filled("mean", {20}, 0), builder.filled("variance", {20}, 1)},
                   {{"epsilon", 0.0f}});
  builder.output(builder.node("Conv", "conv2", {normed, builder.weight("v", {16, 20, 3, 3}, 0.3)},
                              {{"pads", pads}}),
                 "y");
  const TrainingStep step = step_of(infer_shapes(builder.finish()), {});
  const auto fast = program_of(step, "cpu");
  const auto plain = program_of(step, "reference");
  run_once(*fast, 0.001f, 1);
  run_once(*plain, 0.001f, 1);
  const Difference difference = compare_results(fast->state_values(), plain->state_values());
  EXPECT_TRUE(difference.same_non_finite);
  EXPECT_LT(difference.largest, 1e-4) << difference.where;
}

// Pixels far from zero: the sum of their squares would leave nothing of their variance.
TEST(TrainingStep, FindsTheVarianceOfWhatIsFarFromZero) {
  GraphBuilder builder("far", 5, 17);
  const ValueId input = builder.input("x", DataType::Float32, Shape{8, 16, 12, 12});
  const ValueId far =
      builder.node("Add", "far", {input, builder.filled("offset", {1, 16, 1, 1}, 3000)});
  builder.output(
      builder.node("BatchNormalization", "norm",
                   {far, builder.filled("scale", {16}, 1), builder.filled("shift", {16}, 0),
                    builder.filled("mean", {16}, 0), builder.filled("variance", {16}, 1)}),
      "y");
  const TrainingStep step = step_of(infer_shapes(builder.finish()), {});
  const auto fast = program_of(step, "cpu");
  const auto plain = program_of(step, "reference");
  run_once(*fast, 0, 1);
  run_once(*plain, 0, 1);
  const Difference difference = compare_results(fast->state_values(), plain->state_values());
  EXPECT_LT(difference.largest, 1e-5) << difference.where;
}

TEST(TrainingStep, GivesEveryNodeAPhaseAndALayer) {
  const Inferred model = network("small_cnn", 2);
  const TrainingStep step = step_of(model, {.loss = Loss::CrossEntropy});
  ASSERT_EQ(step.phases.size(), step.graph.node_count());
  ASSERT_EQ(step.layers.size(), step.graph.node_count());
  std::size_t updates = 0;
  for (std::size_t i = 0; i < step.phases.size(); ++i) {
    const Node& node = step.graph.nodes()[i];
    if (step.phases[i] == Phase::Update) ++updates;
    if (node.op == "ConvWeightGradient") {
      EXPECT_EQ(step.phases[i], Phase::Backward);
      EXPECT_EQ(model.graph.node(step.layers[i]).op, "Conv");
    }
  }
  EXPECT_EQ(updates, 6u);  // three layers, each with weight and bias
}

TEST(TrainingStep, PlansStateWhereItStays) {
  const TrainingStep step =
      step_of(network("mlp", 2), {.optimizer = {.kind = OptimizerKind::Adam}});
  const Inferred inferred = infer_shapes(step.graph);
  const MemoryPlan plan = plan_memory(inferred);
  for (const auto& [input, output] : inferred.graph.carried()) {
    EXPECT_EQ(plan.buffer_of[input.number], plan.buffer_of[output.number]);
  }
}

// Weights after one step on a batch of eight, all at once or in parts.
std::vector<Tensor> after_one_step(const std::string& model, std::int64_t parts, std::size_t pieces,
                                   const std::string& engine) {
  const TrainingStep step =
      step_of(network(model, 8 / parts),
              {.loss = Loss::CrossEntropy, .accumulate = parts, .pieces = pieces});
  const auto program = program_of(step, engine, 2);
  run_once(*program, 0.5f, 1);
  return program->state_values();
}

TEST(TrainingStep, AddsUpTheGradientsOfPartsOfABatch) {
  for (const std::string engine : {"reference", "cpu"}) {
    const Difference difference = compare_results(after_one_step("small_cnn", 4, 1, engine),
                                                  after_one_step("small_cnn", 1, 1, "reference"));
    EXPECT_TRUE(difference.same_shapes);
    EXPECT_LT(difference.largest, 1e-5) << difference.where;
  }
}

TEST(TrainingStep, OfPartsTakesLessMemory) {
  const auto bytes = [](std::int64_t parts) {
    const TrainingStep step = step_of(network("small_cnn_gap", 64 / parts),
                                      {.loss = Loss::CrossEntropy, .accumulate = parts});
    return plan_memory(infer_shapes(step.graph)).arena_bytes;
  };
  EXPECT_LT(3 * bytes(8), bytes(1));
}

TEST(TrainingStep, ThatRepeatsPiecesGivesTheSameWeights) {
  const auto whole = after_one_step("lenet5", 1, 1, "reference");
  const auto again = after_one_step("lenet5", 1, 3, "reference");
  EXPECT_EQ(compare_results(again, whole).largest, 0);
  EXPECT_LT(compare_results(after_one_step("lenet5", 2, 3, "cpu"), whole).largest, 1e-5);
}

TEST(TrainingStep, IsTheSameOnEveryRun) {
  const TrainingStep step = step_of(network("small_cnn", 16), {.loss = Loss::CrossEntropy});
  for (const int threads : {1, 2}) {
    // Another program might have other algorithms, whichever were faster when it was compiled.
    const auto program = program_of(step, "cpu", threads);
    std::vector<std::vector<Tensor>> runs;
    for (int run = 0; run < 2; ++run) {
      program->set_state(initial_state(step));
      for (std::int64_t number = 1; number <= 5; ++number) run_once(*program, 0.05f, number);
      runs.push_back(program->state_values());
    }
    EXPECT_EQ(compare_results(runs[0], runs[1]).largest, 0) << threads;
  }
}

// Clip, Pad and Slice had attributes where they have inputs since.
TEST(TrainingStep, TakesTheFormsOfOldOpsets) {
  using Ints = std::vector<std::int64_t>;
  GraphBuilder builder("old", 5, 9);
  const ValueId input = builder.input("x", DataType::Float32, Shape{2, 3, 5, 5});
  const ValueId padded =
      builder.node("Pad", "pad", {input}, {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}});
  const ValueId images =
      builder.node("Conv", "conv", {padded, builder.weight("w", {16, 3, 3, 3}, 0.3)});
  const ValueId clipped = builder.node("Clip", "clip", {images}, {{"min", 0.0f}, {"max", 0.5f}});
  builder.output(builder.node("Slice", "slice", {clipped},
                              {{"axes", Ints{2}}, {"starts", Ints{1}}, {"ends", Ints{4}}}),
                 "y");
  const TrainingStep step = step_of(infer_shapes(builder.finish()), {});
  const auto fast = program_of(step, "cpu");
  const auto plain = program_of(step, "reference");
  EXPECT_NEAR(run_once(*fast, 0.1f, 1), run_once(*plain, 0.1f, 1), 1e-3);
  const Difference difference = compare_results(fast->state_values(), plain->state_values());
  EXPECT_LT(difference.largest, 1e-4) << difference.where;
  EXPECT_GT(compare_results(plain->state_values(), initial_state(step)).largest, 0);
  for (const StepInfo& info : fast->steps()) EXPECT_EQ(info.fell_back, "") << info.op;
}

TEST(TrainingStep, RefusesAModelWithoutParameters) {
  GraphBuilder builder("bare", 5, 17);
  const ValueId input = builder.input("x", DataType::Float32, Shape{2, 3});
  builder.output(builder.node("Relu", "relu", {input}), "y");
  EXPECT_THROW(step_of(infer_shapes(builder.finish()), {}), Error);
}

// The labels would have a dimension for every pixel of an image that holds no scores.
TEST(TrainingStep, RefusesOutputsWithoutScores) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 0, 4000000000, 12});
  builder.output(builder.node("Mul", "scale", {x, builder.filled("w", {12}, 1.0f)}), "y");
  const Inferred model = infer_shapes(builder.finish());
  EXPECT_THAT(
      [&] { step_of(model, {.loss = Loss::CrossEntropy}); },
      testing::ThrowsMessage<Error>(testing::HasSubstr("'y' is float32[1x0x4000000000x12]")));
}

}  // namespace
}  // namespace assay
