#include "profile/attribute.h"

#include <numeric>

#include "assay/builder.h"
#include "assay/zoo.h"
#include "fake_program.h"
#include "profile/assemble.h"
#include "profile/prepared.h"
#include "profile/step_times.h"

namespace assay {

using namespace assay::profile;

namespace {

constexpr std::int64_t kMicrosecond = 1000;

Prepared prepared_small_cnn() {
  return prepare_model(zoo_model("small_cnn"), "small_cnn", {});
}

Facts known_before(const Prepared& prepared) {
  Facts facts;
  facts.batch = prepared.batch;
  facts.totals = prepared.cost.totals;
  facts.layers = layer_rows(prepared.inferred.graph, prepared.cost);
  return facts;
}

// conv1 relu1 pool1 conv2 relu2 pool2 (flatten) classifier: a reorder, two fused steps, one alone.
std::vector<StepInfo> fused_steps() {
  return {{.name = "reorder input", .op = "Reorder", .bytes_read = 100, .bytes_written = 100},
          {.name = "conv1", .op = "Conv", .layers = {NodeId{0}, NodeId{1}}, .executed_flops = 1000},
          {.name = "pool1", .op = "MaxPool", .layers = {NodeId{2}}},
          {.name = "conv2", .op = "Conv", .layers = {NodeId{4}, NodeId{3}, NodeId{5}}}};
}

Profile fake_profile() {
  FakeClock clock;
  FakeProgram program(
      clock, fused_steps(),
      {10 * kMicrosecond, 300 * kMicrosecond, 50 * kMicrosecond, 600 * kMicrosecond},
      40 * kMicrosecond);
  Observation seen = observe(program, {.fixed_warmup = 3, .fixed_samples = 20}, 2, nullptr, clock);
  return assemble(known_before(prepared_small_cnn()), facts_of(program), std::move(seen));
}

// Timing a step takes 20 µs.
Profile profile_of_device() {
  FakeClock clock;
  std::vector<StepInfo> steps = fused_steps();
  for (StepInfo& step : steps) step.device = "cuda";
  FakeProgram program(
      clock, steps, {10 * kMicrosecond, 300 * kMicrosecond, 50 * kMicrosecond, 600 * kMicrosecond},
      40 * kMicrosecond);
  program.observing = 20 * kMicrosecond;
  Observation seen = observe(program, {.fixed_warmup = 3, .fixed_samples = 20}, 2, nullptr, clock);
  return assemble(known_before(prepared_small_cnn()), facts_of(program), std::move(seen));
}

double sum_of_layers(const Profile& profile) {
  double sum = profile.between_steps_ms;
  for (const auto& layer : profile.layers) sum += layer.time_ms.value_or(0);
  return sum;
}

const ProfileLayer& layer_named(const Profile& profile, const std::string& name) {
  for (const auto& layer : profile.layers) {
    if (layer.cost.name == name) return layer;
  }
  throw std::runtime_error("no layer " + name);
}

TEST(Attribution, WhatTimingStepsTakesIsLeftOutWhereTheyAreTimedApart) {
  const Profile profile = profile_of_device();
  EXPECT_TRUE(profile.are_steps_timed_apart);
  EXPECT_DOUBLE_EQ(profile.run_ms(), 0.01 + 0.3 + 0.05 + 0.6 + 0.04);
  EXPECT_NEAR(profile.steps[1].time_ms, 0.3, 1e-9);
  EXPECT_NEAR(profile.steps[1].mean_ms, 0.3, 1e-9);
  EXPECT_NEAR(profile.between_steps_ms, 0.04, 1e-9);
  EXPECT_NEAR(sum_of_layers(profile), profile.run_ms(), 1e-9);
}

TEST(Attribution, StepsAndTheTimeBetweenThemAreTheMeanTimeOfARun) {
  const Profile profile = fake_profile();
  EXPECT_DOUBLE_EQ(profile.latency.latency.mean_ms, 0.01 + 0.3 + 0.05 + 0.6 + 0.04);
  EXPECT_NEAR(profile.between_steps_ms, 0.04, 1e-9);
  double steps = profile.between_steps_ms;
  for (const auto& step : profile.steps) steps += step.time_ms;
  EXPECT_NEAR(steps, profile.run_ms(), 1e-9);
  double means = profile.between_steps_mean_ms;
  for (const auto& step : profile.steps) means += step.mean_ms;
  EXPECT_NEAR(means, profile.latency.latency.mean_ms, 1e-9);
  EXPECT_NEAR(sum_of_layers(profile), profile.latency.latency.mean_ms, 1e-9);
}

TEST(Attribution, AFusedStepIsListedUnderItsLayerWithTheMostFlops) {
  const Profile profile = fake_profile();
  const auto& conv2 = layer_named(profile, "conv2");
  EXPECT_NEAR(*conv2.time_ms, 0.6, 1e-9);
  EXPECT_EQ(conv2.fused, (std::vector<std::string>{"relu2", "pool2"}));
  EXPECT_NEAR(conv2.share, 0.6 / 1.0, 1e-9);
  EXPECT_FALSE(layer_named(profile, "relu2").time_ms);
  EXPECT_EQ(layer_named(profile, "relu2").fused_into, "conv2");
}

TEST(Attribution, RatesCountTheWorkOfFusedLayers) {
  const Profile profile = fake_profile();
  const double work = static_cast<double>(layer_named(profile, "conv1").cost.flops +
                                          layer_named(profile, "relu1").cost.flops);
  EXPECT_NEAR(*layer_named(profile, "conv1").rates.gflops_per_second, work / 300e-6 / 1e9, 1e-9);
}

TEST(Attribution, AStepWithoutALayerIsARowOfItsOwn) {
  const Profile profile = fake_profile();
  const auto& reorder = layer_named(profile, "reorder input");
  EXPECT_NEAR(*reorder.time_ms, 0.01, 1e-9);
  EXPECT_EQ(reorder.cost.op, "Reorder");
  EXPECT_FALSE(reorder.cost.node.is_valid());
}

TEST(Attribution, AStepOfUnknownLayersIsARowOfItsOwn) {
  std::vector<ProfileLayer> layers = fake_profile().layers;
  std::vector<ProfileStep> steps(1);
  steps[0].info = {.name = "odd", .op = "Odd", .layers = {NodeId{12345}, NodeId{}}};
  steps[0].time_ms = 1;
  const std::size_t before = layers.size();
  attribute_steps(steps, 1, false, layers);
  EXPECT_EQ(layers.size(), before + 1);
}

TEST(Attribution, RunsAreTracedOneByOne) {
  const Profile profile = fake_profile();
  ASSERT_EQ(profile.traced_runs.size(), 2u);
  EXPECT_EQ(profile.traced_runs[0].start_nanoseconds, 0);
  EXPECT_EQ(profile.traced_runs[1].start_nanoseconds, 1000 * kMicrosecond);
  EXPECT_EQ(profile.traced_runs[1].duration_nanoseconds, 1000 * kMicrosecond);
  EXPECT_EQ(profile.traced_runs[1].step_nanoseconds[3], 600 * kMicrosecond);
}

TEST(Attribution, WarmUpIsNotPartOfStepTimes) {
  FakeClock clock;
  FakeProgram program(clock, {{.name = "only", .op = "Relu"}}, {7}, 0);
  const auto seen = observe(program, {.fixed_warmup = 100, .fixed_samples = 10}, 0, nullptr, clock);
  EXPECT_DOUBLE_EQ(seen.step_means_ms[0], 7e-6);
  EXPECT_EQ(program.runs, 100u + 10u);
}

TEST(LayerRows, SumToTheTotals) {
  for (const char* model : {"small_cnn", "resnet18", "lstm", "encoder:layers=1"}) {
    const Prepared prepared = prepare_model(zoo_model(model), model, {});
    std::int64_t flops = 0;
    std::int64_t parameters = 0;
    for (const auto& row : layer_rows(prepared.inferred.graph, prepared.cost)) {
      flops += row.cost.flops;
      parameters += row.cost.parameters;
    }
    EXPECT_EQ(flops, prepared.cost.totals.flops) << model;
    EXPECT_EQ(parameters, prepared.cost.totals.parameters) << model;
  }
}

// A Relu before a Loop whose body adds 2x3 elements, five times.
Graph looping_graph() {
  GraphBuilder body("body");
  body.input("i", DataType::Int64, Shape{});
  const ValueId condition = body.input("condition", DataType::Bool, Shape{});
  const ValueId carried = body.input("carried", DataType::Float32, Shape{2, 3});
  body.output(body.node("Identity", "go_on", {condition}), "again");
  body.output(body.node("Add", "twice", {carried, carried}), "next");
  GraphBuilder builder("loops");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId relu = builder.node("Relu", "relu", {x});
  const ValueId trips = builder.constant("trips", Tensor::of_int64({}, {5}));
  const std::vector<std::uint8_t> yes = {1};
  const ValueId start =
      builder.constant("start", Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(yes)));
  builder.output(builder.node("Loop", "loop", {trips, start, relu},
                              {{"body", std::make_shared<const Graph>(body.finish())}}),
                 "y");
  return builder.finish();
}

TEST(LayerRows, WorkOfABodyBelongsToItsNode) {
  const Prepared prepared = prepare_model(looping_graph(), "loops", {});
  const auto rows = layer_rows(prepared.inferred.graph, prepared.cost);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].cost.name, "relu");
  EXPECT_EQ(rows[1].cost.name, "loop");
  EXPECT_EQ(rows[1].cost.op, "Loop");
  EXPECT_EQ(rows[1].cost.flops, 5 * 2 * 3);
}

TEST(Batch, IsTheAxisCalledSoOrElseTheFirst) {
  const auto batch_of = [](Shape shape, Bindings bindings = {}) {
    GraphBuilder builder("g");
    const ValueId x = builder.input("x", DataType::Float32, std::move(shape));
    builder.output(builder.node("Relu", "relu", {x}), "y");
    return prepare_model(builder.finish(), "g", {.bindings = std::move(bindings)}).batch;
  };
  EXPECT_EQ(batch_of(Shape{4, 3}), 4);
  EXPECT_EQ(batch_of(Shape{16000}), 1);
  EXPECT_EQ(batch_of(Shape{}), 1);
  EXPECT_EQ(batch_of(Shape{7, Dim::symbol("batch_size"), 3}, {.batch = 5}), 5);
  EXPECT_EQ(batch_of(Shape{Dim::symbol("n"), 3}), 1);
}

TEST(StepTimes, MeansAreExactAndMediansSurviveThinning) {
  StepTimes times(2, 64);
  for (std::int64_t i = 1; i <= 1001; ++i) {
    const std::vector<std::int64_t> sample = {i * 2'000'000, 10'000'000};
    times.add(sample, 2);
  }
  EXPECT_DOUBLE_EQ(times.means_ms()[0], 501.0);  // (1 + 1001) / 2
  EXPECT_DOUBLE_EQ(times.means_ms()[1], 5.0);
  EXPECT_NEAR(times.medians_ms()[0], 501.0, 40.0);  // one sample in 32 is kept
  EXPECT_DOUBLE_EQ(times.medians_ms()[1], 5.0);
}

double sum_of(const MedianRun& run) {
  return std::accumulate(run.steps_ms.begin(), run.steps_ms.end(), run.between_steps_ms);
}

TEST(StepTimes, TheMedianRunIsMadeOfTheSamplesNextToTheMedian) {
  StepTimes times(2);
  const std::vector<double> walls = {5, 1000, 3, 4, 6, 1, 4, 8};  // the median of 4 and 5 is 4.5
  for (const double wall : walls) {
    const std::vector<std::int64_t> sample = {static_cast<std::int64_t>(wall * 500'000), 1'000'000};
    times.add(sample, 1);
  }
  const MedianRun run = times.at_median(walls, 4.5);
  EXPECT_DOUBLE_EQ(run.run_ms, 4.5);
  EXPECT_DOUBLE_EQ(run.steps_ms[0], 4.5 / 2);
  EXPECT_DOUBLE_EQ(run.steps_ms[1], 4.5 * (1.0 / 4 + 1.0 / 5) / 2);
  EXPECT_DOUBLE_EQ(sum_of(run), 4.5);
}

TEST(StepTimes, AnInterruptedSampleDoesNotDistortTheMedianRun) {
  StepTimes times(2);
  std::vector<double> walls;
  for (int i = 0; i < 100; ++i) {
    const bool is_interrupted = i % 5 < 2;  // for 9 ms, in the second step
    walls.push_back(is_interrupted ? 10 : 1);
    const std::vector<std::int64_t> quiet = {600'000, 300'000};
    const std::vector<std::int64_t> interrupted = {600'000, 9'300'000};
    times.add(is_interrupted ? interrupted : quiet, 1);
  }
  const MedianRun run = times.at_median(walls, 1);
  EXPECT_NEAR(run.steps_ms[0], 0.6, 0.03);
  EXPECT_NEAR(run.steps_ms[1], 0.3, 0.05);
  EXPECT_DOUBLE_EQ(sum_of(run), 1);
}

TEST(StepTimes, AMedianRunOfAFewSamplesBalances) {
  for (const std::size_t count : {1u, 2u, 3u}) {
    StepTimes times(1);
    std::vector<double> walls;
    for (std::size_t i = 1; i <= count; ++i) {
      walls.push_back(static_cast<double>(i));
      const std::vector<std::int64_t> sample = {static_cast<std::int64_t>(i) * 500'000};
      times.add(sample, 1);
    }
    const double median = static_cast<double>(count + 1) / 2;
    EXPECT_DOUBLE_EQ(times.at_median(walls, median).steps_ms[0], median / 2);
    EXPECT_DOUBLE_EQ(sum_of(times.at_median(walls, median)), median);
  }
}

TEST(StepTimes, AMedianRunOfThinnedSamplesBalances) {
  StepTimes times(2, 64);
  std::vector<double> walls;
  for (std::int64_t i = 1; i <= 1001; ++i) {
    walls.push_back(static_cast<double>(i));
    const std::vector<std::int64_t> sample = {i * 400'000, i * 500'000};
    times.add(sample, 1);
  }
  const MedianRun run = times.at_median(walls, 501);
  EXPECT_NEAR(run.steps_ms[0], 501 * 0.4, 1e-9);
  EXPECT_NEAR(run.between_steps_ms, 501 * 0.1, 1e-9);
}

TEST(Memory, EfficiencyIsNeededOverAllocatedBytes) {
  FakeClock clock;
  FakeProgram program(clock, {}, {}, 1);
  program.taken = {.weight_bytes = 300,
                   .arena_bytes = 100,
                   .planned_weight_bytes = 200,
                   .planned_arena_bytes = 100};
  const ProfileMemory memory = facts_of(program).memory;
  EXPECT_EQ(memory.peak_bytes, 400);
  EXPECT_EQ(memory.useful_bytes, 300);
  EXPECT_DOUBLE_EQ(memory.memory_efficiency, 0.75);
  program.taken.weight_bytes = 100;  // less than planned: it stored one thing smaller
  EXPECT_DOUBLE_EQ(facts_of(program).memory.memory_efficiency, 1.0);
}

TEST(Warnings, NameEachOpThatFellBackOnce) {
  FakeClock clock;
  FakeProgram program(clock,
                      {{.name = "a", .op = "Odd", .fell_back = "no fast kernel"},
                       {.name = "b", .op = "Odd", .fell_back = "no fast kernel"}},
                      {1, 1}, 0);
  Observation seen = observe(program, {.fixed_warmup = 1, .fixed_samples = 10}, 0, nullptr, clock);
  const Profile profile = assemble({}, facts_of(program), std::move(seen));
  const auto mentions = std::count_if(
      profile.warnings.begin(), profile.warnings.end(),
      [](const std::string& text) { return text.find("Odd (2)") != std::string::npos; });
  EXPECT_EQ(mentions, 1);
}

}  // namespace
}  // namespace assay
