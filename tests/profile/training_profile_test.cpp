#include "assay/training_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/bind.h"
#include "assay/builder.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/zoo.h"

namespace assay {
namespace {

constexpr std::int64_t kBatch = 4;

TrainingProfile profiled(const std::string& model, const TrainingStepOptions& step,
                         const std::string& engine = "cpu") {
  TrainingProfileOptions options{.step = step};
  options.profile.run.bindings.batch = kBatch;
  options.profile.run.program = {.engine = engine, .cpu = {.threads = 1}};
  options.profile.timing = {.fixed_warmup = 1, .fixed_samples = 3};
  options.profile.judge = false;
  return profile_training(zoo_model(model), model, options);
}

// Of one sample: what a multiply-add costs twice, once for each operand's gradient; the images of
// the first layer want none.
TEST(TrainingProfile, CountsTheBackwardPassByTheFormulas) {
  const TrainingProfile profile = profiled("small_cnn", {.loss = Loss::CrossEntropy});
  const std::int64_t conv1 = 28 * 28 * 9 * 16;
  const std::int64_t conv2 = 14 * 14 * 9 * 16 * 32;
  const std::int64_t classifier = 1568 * 10;
  EXPECT_EQ(profile.totals(Phase::Forward).macs, kBatch * (conv1 + conv2 + classifier));
  EXPECT_EQ(profile.totals(Phase::Backward).macs, kBatch * (conv1 + 2 * conv2 + 2 * classifier));
  // Each of 20,490 parameters: a multiplication and a subtraction.
  EXPECT_EQ(profile.totals(Phase::Update).flops, 2 * 20490);
  EXPECT_EQ(profile.parameters, 20490);
}

TEST(TrainingProfile, LayersAndPhasesSumToTheStep) {
  const TrainingProfile profile =
      profiled("small_cnn_gap", {.loss = Loss::CrossEntropy, .optimizer = {OptimizerKind::Adam}});
  double by_layer = 0;
  std::int64_t flops = 0;
  for (const TrainingLayer& layer : profile.layers) {
    for (const LayerPhase* part : {&layer.forward, &layer.backward, &layer.update}) {
      by_layer += part->time_ms.value_or(0);
      flops += part->flops;
    }
  }
  double by_phase = 0;
  std::int64_t phase_flops = 0;
  for (const PhaseTotals& phase : profile.phases) {
    by_phase += phase.time_ms;
    phase_flops += phase.flops;
  }
  const double steps = profile.step.run_ms() - profile.step.between_steps_ms;
  EXPECT_NEAR(by_layer, steps, 1e-6);
  EXPECT_NEAR(by_phase, steps, 1e-6);
  EXPECT_EQ(flops, phase_flops);
  EXPECT_EQ(flops, profile.step.totals.flops);
}

// A layout change in the backward pass is not part of the forward pass, whichever made the value.
TEST(TrainingProfile, ForwardEndsWhereBackwardBegins) {
  const TrainingProfile profile = profiled("lenet5", {.loss = Loss::CrossEntropy});
  const auto back = std::ranges::find(profile.step_phases, Phase::Backward);
  ASSERT_NE(back, profile.step_phases.end());
  EXPECT_EQ(std::find(back, profile.step_phases.end(), Phase::Forward), profile.step_phases.end());
}

TEST(TrainingProfile, AllocatesWhatIsInUseAtThePeak) {
  for (const char* model : {"small_cnn", "mlp", "lenet5"}) {
    const TrainingProfile profile = profiled(model, {.loss = Loss::CrossEntropy});
    const TrainingMemory& memory = profile.memory;
    ASSERT_EQ(memory.by_step.size(), profile.step.steps.size());
    std::int64_t most = 0;
    for (const BytesByUse& bytes : memory.by_step) most = std::max(most, total(bytes));
    EXPECT_EQ(total(memory.by_step[memory.peak_step]), most) << model;
    EXPECT_LE(most, memory.arena_bytes) << model;
    // Buffers of many sizes and lifetimes leave gaps between them.
    EXPECT_GE(1.1 * static_cast<double>(most), static_cast<double>(memory.arena_bytes)) << model;
  }
}

TEST(TrainingProfile, ReferenceEngineAllocatesWhatWasPlanned) {
  const TrainingProfile profile = profiled("mlp", {.loss = Loss::CrossEntropy}, "reference");
  EXPECT_GT(profile.memory.planned.step_bytes, 0);
  EXPECT_EQ(profile.step.memory.program.planned_arena_bytes, profile.memory.planned.step_bytes);
}

TEST(TrainingProfile, MemoryFollowsTheOptimizer) {
  const auto planned = [](OptimizerKind kind) {
    return plan_training(zoo_model("mlp"), {.optimizer = {.kind = kind}}, {.batch = 2});
  };
  const PlannedTraining plain = planned(OptimizerKind::Sgd);
  EXPECT_EQ(plain.parameter_bytes, 4 * 235146);
  EXPECT_EQ(plain.gradient_bytes, plain.parameter_bytes);
  EXPECT_EQ(plain.optimizer_bytes, 0);
  EXPECT_EQ(planned(OptimizerKind::Momentum).optimizer_bytes, plain.gradient_bytes);
  EXPECT_EQ(planned(OptimizerKind::Adam).optimizer_bytes, 2 * plain.gradient_bytes);
  EXPECT_GT(planned(OptimizerKind::AdamW).step_bytes, plain.step_bytes);
}

TEST(TrainingProfile, LargestBatchFitsAndTheNextDoesNot) {
  const Graph model = zoo_model("small_cnn");
  const std::int64_t budget = std::int64_t{2} << 20;
  const auto best = largest_batch(model, budget, {});
  ASSERT_TRUE(best);
  EXPECT_LE(best->step_bytes, budget);
  EXPECT_GT(plan_training(model, {}, {.batch = best->batch + 1}).step_bytes, budget);
  EXPECT_FALSE(largest_batch(model, 1000, {}));
}

TEST(TrainingProfile, PiecesAreRecomputedToFitABudget) {
  const Graph model = zoo_model("vgg16:batch=1");
  const auto bytes = [&](std::size_t pieces) {
    return plan_training(model, {.pieces = pieces}, {}).step_bytes;
  };
  const std::int64_t whole = bytes(1);
  const std::size_t pieces = pieces_to_fit(model, whole - (std::int64_t{4} << 20), {});
  EXPECT_GT(pieces, 1u);
  EXPECT_LE(bytes(pieces), whole - (std::int64_t{4} << 20));
  EXPECT_THROW(pieces_to_fit(model, 1000, {}), Error);
}

// Unwinds the differentiation in a program that also holds the profiler's types: two types of one
// name would share a destructor there.
TEST(TrainingProfile, RefusesAPadThatHasNoGradient) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 1, 4, 4});
  const ValueId conv = builder.node("Conv", "conv", {x, builder.filled("w", {1, 1, 3, 3}, 1.0f)});
  const ValueId pad =
      builder.node("Pad", "pad", {conv, builder.ints("pads", {0, 0, 1, 1, 0, 0, 1, 1})},
                   {{"mode", std::string("reflect")}});
  builder.output(builder.node("Relu", "relu", {pad}), "y");
  Graph model = builder.finish();
  EXPECT_THAT([&] { profile_training(model, "net", {}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("Pad 'pad' has no gradient")));
  model.value(pad).name = "padded";
  model.node(model.producer(pad)).name = "";
  EXPECT_THAT([&] { profile_training(model, "net", {}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("Pad 'padded' has no gradient")));
}

TEST(Profiler, ProfileBackwardPassFillsEveryField) {
  const Graph model = bind_inputs(zoo_model("mlp"), {.batch = 8}).graph;
  const Tensor input = random_inputs({model.value(model.inputs()[0])}, 1).front();
  const BackwardPass pass = Profiler({.cpu = {.threads = 1}}).profile_backward_pass(model, {input});
  const std::int64_t macs = 784 * 256 + 256 * 128 + 128 * 10;
  EXPECT_GE(pass.forward_flops, 8 * 2 * macs);
  EXPECT_EQ(pass.total_flops, pass.forward_flops + pass.loss_flops + pass.backward_flops);
  EXPECT_GT(pass.flops_ratio, 1.0);
  EXPECT_LT(pass.flops_ratio, 2.0);  // nobody wants the gradient of the samples
  EXPECT_GT(pass.forward_latency_ms, 0);
  EXPECT_GT(pass.backward_latency_ms, 0);
  EXPECT_NEAR(pass.total_latency_ms, pass.forward_latency_ms + pass.backward_latency_ms, 1e-9);
  const double gradients = 4 * 235146 / 1024.0 / 1024.0;
  EXPECT_NEAR(pass.gradient_memory_mb, gradients, 1e-9);
  EXPECT_GT(pass.total_memory_mb, 2 * gradients);
  EXPECT_NEAR(pass.optimizer_memory_estimates.at("sgd"), 0, 1e-9);
  EXPECT_NEAR(pass.optimizer_memory_estimates.at("momentum"), gradients, 1e-9);
  EXPECT_NEAR(pass.optimizer_memory_estimates.at("adam"), 2 * gradients, 1e-9);
  EXPECT_NEAR(pass.optimizer_memory_estimates.at("adamw"), 2 * gradients, 1e-9);
  EXPECT_GT(pass.memory_efficiency, 0);
  EXPECT_LE(pass.memory_efficiency, 1);
}

BackwardPass backward_pass(const Layer& layer, std::vector<std::int64_t> dims) {
  const Tensor input =
      random_inputs({{"input", tensor_type(DataType::Float32, Shape(dims))}}, 1).front();
  return Profiler({.cpu = {.threads = 1}}).profile_backward_pass(layer, {input});
}

TEST(Profiler, ForwardFlopsAreTheForwardProfilesAndTheLossHasItsOwn) {
  const BackwardPass pass = backward_pass(Linear(128, 64), {16, 128});
  EXPECT_EQ(pass.forward_flops, 16 * (2 * 128 * 64 + 64));
  EXPECT_EQ(pass.loss_flops, 16 * 64 * 2);  // a square and a sum
  // The weights' gradient is a product as large as the forward one, the bias's a sum of 16 rows.
  EXPECT_GE(pass.backward_flops, pass.forward_flops);
  EXPECT_EQ(pass.backward_flops_rule, 2 * pass.forward_flops);
}

TEST(Profiler, AModelWithoutParametersHasTheGradientOfItsInput) {
  const BackwardPass pass = backward_pass(Relu(), {4, 8});
  EXPECT_EQ(pass.forward_flops, 4 * 8);
  EXPECT_GE(pass.backward_flops, 4 * 8);
  EXPECT_GT(pass.backward_latency_ms, 0);
  EXPECT_EQ(pass.update_latency_ms, 0);
  EXPECT_DOUBLE_EQ(pass.gradient_memory_mb, 4 * 8 * 4 / 1024.0 / 1024.0);
  EXPECT_EQ(pass.optimizer_memory_estimates.at("adam"), 0);
}

TEST(TrainingProfile, AModelWithoutParametersSaysSo) {
  TrainingProfileOptions options;
  options.profile.run.program = {.cpu = {.threads = 1}};
  options.profile.run.bindings.input_shapes["input"] = Shape({4, 8});
  options.profile.timing = {.fixed_warmup = 1, .fixed_samples = 2};
  options.profile.judge = false;
  const TrainingProfile profile = profile_training(Relu(), "relu", options);
  EXPECT_THAT(profile.step.warnings, ::testing::Contains(::testing::HasSubstr("no parameters")));
  EXPECT_EQ(profile.totals(Phase::Update).flops, 0);
  options.step.accumulate = 2;
  EXPECT_THROW(profile_training(Relu(), "relu", options), Error);
}

}  // namespace
}  // namespace assay
