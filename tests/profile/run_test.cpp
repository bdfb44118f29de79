#include "assay/run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/profile.h"
#include "assay/profiler.h"
#include "assay/zoo.h"

namespace assay {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

ProgramOptions reference() {
  return {.engine = "reference", .cpu = {.threads = 1}};
}

TEST(TensorSummary, LooksAtFiniteElementsAndCountsTheOthers) {
  const auto summary = summarize_tensor(Tensor::of_float({5}, {1, -2, kNaN, kInfinite, 4}));
  EXPECT_DOUBLE_EQ(*summary.min, -2);
  EXPECT_DOUBLE_EQ(*summary.max, 4);
  EXPECT_DOUBLE_EQ(*summary.mean, 1);
  EXPECT_EQ(summary.nan_count, 1);
  EXPECT_EQ(summary.infinite_count, 1);
}

TEST(TensorSummary, OfNothingIsMissing) {
  EXPECT_FALSE(summarize_tensor(Tensor::of_float({0}, {})).mean);
  EXPECT_FALSE(summarize_tensor(Tensor({1}, {std::string("word")})).min);
}

TEST(TensorDifference, FindsTheLargestErrors) {
  const auto difference = tensor_difference(Tensor::of_float({3}, {1.0f, 10.5f, 0.0f}),
                                            Tensor::of_float({3}, {1.0f, 10.0f, 0.0f}),
                                            {.relative = 0.01, .absolute = 0});
  EXPECT_DOUBLE_EQ(difference.largest_absolute, 0.5);
  EXPECT_DOUBLE_EQ(difference.largest_relative, 0.05);
  EXPECT_EQ(difference.differing, 1);
  EXPECT_FALSE(difference.agrees());
}

TEST(TensorDifference, NaNAgreesWithNaNAloneAndInfinityWithItself) {
  const auto of = [](float number) { return Tensor::of_float({2}, {number, 1}); };
  EXPECT_TRUE(tensor_difference(of(kNaN), of(kNaN)).agrees());
  EXPECT_FALSE(tensor_difference(of(kNaN), of(1)).agrees());
  EXPECT_FALSE(tensor_difference(of(1), of(kNaN)).agrees());
  EXPECT_TRUE(tensor_difference(of(kInfinite), of(kInfinite)).agrees());
  EXPECT_FALSE(tensor_difference(of(kInfinite), of(-kInfinite)).agrees());
  EXPECT_FALSE(tensor_difference(of(kInfinite), of(1e30f)).agrees());
}

TEST(TensorDifference, SaysWhyTensorsCannotBeCompared) {
  const auto shape = tensor_difference(Tensor::of_float({2}, {1, 2}), Tensor::of_float({1}, {1}));
  EXPECT_NE(shape.mismatch.find("shape 2, expected 1"), std::string::npos) << shape.mismatch;
  const auto type = tensor_difference(Tensor::of_float({1}, {1}), Tensor::of_int64({1}, {1}));
  EXPECT_NE(type.mismatch.find("float32, expected int64"), std::string::npos) << type.mismatch;
}

TEST(RunModel, GivesTheSameOutputsForTheSameSeed) {
  const RunOptions options{.program = reference()};
  const auto once = run_model(zoo_model("mlp"), "mlp", options);
  const auto again = run_model(zoo_model("mlp"), "mlp", options);
  ASSERT_EQ(once.outputs.size(), 1u);
  EXPECT_EQ(once.outputs[0].tensor, again.outputs[0].tensor);
  EXPECT_EQ(once.outputs[0].tensor.dims(), (std::vector<std::int64_t>{1, 10}));
  RunOptions other = options;
  other.seed = 1;
  EXPECT_FALSE(run_model(zoo_model("mlp"), "mlp", other).outputs[0].tensor ==
               once.outputs[0].tensor);
}

TEST(RunModel, RunsOnTheContentGivenWhichAlsoBindsTheShape) {
  RunOptions options{.program = reference()};
  options.inputs["input"] = Tensor::of_float({2, 2}, {1, -1, kNaN, -kInfinite});
  GraphBuilder builder("g");
  const ValueId x = builder.input("input", DataType::Float32, Shape{Dim::symbol("n"), Dim()});
  builder.output(builder.node("Relu", "relu", {x}), "output");
  const auto result = run_model(builder.finish(), "g", options);
  const auto output = result.outputs[0].tensor.to_vector<float>();
  EXPECT_EQ(output[0], 1);
  EXPECT_EQ(output[1], 0);
  EXPECT_TRUE(std::isnan(output[2]));
  EXPECT_EQ(output[3], 0);
}

// A GRU of 5 steps and a batch of 2, whose lengths are an input of another type.
Graph recurrent_with_lengths() {
  const auto ramp = [](std::vector<std::int64_t> dims, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7) / 10 - 0.3f;
    return Tensor::of_float(std::move(dims), values);
  };
  GraphBuilder builder("g", 0, 17);
  const ValueId x = builder.input("x", DataType::Float32, Shape{5, 2, 4});
  const ValueId lengths = builder.input("lengths", DataType::Int64, Shape{2});
  const ValueId cast = builder.node("Cast", "cast", {lengths}, {{"to", std::int64_t{6}}});
  const auto results =
      builder.node_with_outputs("GRU", "gru",
                                {x, builder.constant("w", ramp({1, 9, 4}, 36)),
                                 builder.constant("r", ramp({1, 9, 3}, 27)), ValueId{}, cast},
                                2, {{"hidden_size", std::int64_t{3}}});
  builder.output(results[1], "state");
  return builder.finish();
}

TEST(RunModel, DrawsSequencesOfFullLength) {
  RunOptions options{.program = reference()};
  const auto drawn = run_model(recurrent_with_lengths(), "g", options);
  options.inputs["lengths"] = Tensor::of_int64({2}, {5, 5});
  const auto full = run_model(recurrent_with_lengths(), "g", options);
  EXPECT_EQ(drawn.outputs[0].tensor, full.outputs[0].tensor);
  options.inputs["lengths"] = Tensor::of_int64({2}, {1, 5});
  const auto shorter = run_model(recurrent_with_lengths(), "g", options);
  EXPECT_FALSE(drawn.outputs[0].tensor == shorter.outputs[0].tensor);
}

TEST(RunModel, RefusesContentOfAnotherTypeOrName) {
  RunOptions options{.program = reference()};
  options.inputs["input"] = Tensor::of_int64({1, 784}, std::vector<std::int64_t>(784));
  EXPECT_THROW(run_model(zoo_model("mlp"), "mlp", options), Error);
  options.inputs = {{"nobody", Tensor::of_float({1}, {1})}};
  EXPECT_THROW(run_model(zoo_model("mlp"), "mlp", options), Error);
}

TEST(ProfileModel, BalancesAndReportsItsPhases) {
  ProfileOptions options{.run = {.program = reference()},
                         .timing = {.fixed_warmup = 1, .fixed_samples = 12},
                         .read_ms = 1.5,
                         .traced_runs = 3,
                         .judge = false};
  const Profile profile = profile_model(zoo_model("small_cnn"), "small_cnn", options);
  EXPECT_EQ(profile.latency.samples_ms.size(), 12u);
  EXPECT_DOUBLE_EQ(*profile.start_up.read_ms, 1.5);
  EXPECT_GT(profile.start_up.first_run_ms, 0);
  EXPECT_EQ(profile.traced_runs.size(), 3u);
  EXPECT_EQ(profile.totals.parameters, 20490);
  EXPECT_EQ(profile.batch, 1);
  EXPECT_FALSE(profile.bottleneck);
  double layers = profile.between_steps_ms;
  for (const auto& layer : profile.layers) layers += layer.time_ms.value_or(0);
  EXPECT_NEAR(layers, profile.run_ms(), profile.run_ms() / 1e5);
}

class CancelsAtOnce : public Progress {
 public:
  bool cancelled() const override { return true; }
};

TEST(ProfileModel, CancelledBeforeTheFirstMeasurementThrowsCancelled) {
  CancelsAtOnce progress;
  try {
    profile_model(zoo_model("mlp"), "mlp", {.run = {.program = reference()}}, &progress);
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
  }
}

TEST(Profiler, MeasuresTheMedianOfTheGivenNumberOfRuns) {
  const Tensor x = Tensor::of_float({1, 128}, std::vector<float>(128, 0.5f));
  EXPECT_GT(Profiler(reference()).measure_latency(Linear(128, 64), x, 1, 5), 0);
  EXPECT_THROW(Profiler(reference()).measure_latency(Linear(128, 64), x, 1, 0), Error);
}

TEST(Profiler, RefusesInputsThatDoNotFit) {
  const Tensor x = Tensor::of_float({1, 127}, std::vector<float>(127));
  EXPECT_THROW(Profiler(reference()).measure_latency(Linear(128, 64), x, 1, 5), Error);
  EXPECT_THROW(Profiler(reference()).measure_latency(Linear(128, 64), std::vector<Tensor>{}),
               Error);
}

TEST(Profiler, MemoryIsWhatIsStoredAndWhatIsPlanned) {
  const auto memory = Profiler(reference()).measure_memory(Linear(128, 64), {4, 128});
  EXPECT_DOUBLE_EQ(memory.parameter_memory_mb, (128 * 64 + 64) * 4 / 1048576.0);
  EXPECT_GT(memory.activation_memory_mb, 0);
  EXPECT_GE(memory.peak_memory_mb, memory.parameter_memory_mb);
  EXPECT_GT(memory.memory_efficiency, 0);
  EXPECT_LE(memory.memory_efficiency, 1);
}

TEST(Profiler, AForwardPassIsConsistent) {
  const Tensor x = Tensor::of_float({2, 128}, std::vector<float>(256, 0.5f));
  const ForwardPass pass = profile_forward_pass(Linear(128, 64), x, reference());
  EXPECT_EQ(pass.parameters, 8256);
  EXPECT_EQ(pass.flops, 2 * (2 * 128 * 64 + 64));
  EXPECT_NEAR(pass.gflops_per_second, static_cast<double>(pass.flops) / pass.latency_ms / 1e6,
              1e-9);
  EXPECT_NEAR(pass.memory_bandwidth_mbs, pass.peak_memory_mb / (pass.latency_ms / 1000), 1e-6);
  if (pass.bottleneck) {
    EXPECT_NE(*pass.is_memory_bound, *pass.is_compute_bound);
    EXPECT_EQ(*pass.bottleneck == "memory", *pass.is_memory_bound);
    EXPECT_GE(*pass.computational_efficiency, 0);
    EXPECT_LE(*pass.computational_efficiency, 1);
  }
}

}  // namespace
}  // namespace assay
