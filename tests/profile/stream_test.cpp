#include "assay/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "assay/error.h"
#include "assay/layers.h"
#include "assay/zoo.h"
#include "profile/compiled_model.h"
#include "profile/stream/estimate.h"
#include "support/error_message.h"

namespace assay {

using namespace assay::profile;

namespace {

using ::testing::HasSubstr;

// 100 GFLOP/s, 1 kB of L1 at 100 GB/s, memory at 10 GB/s, 1 µs to start a step.
Roofline round_numbers(std::int64_t cache_bytes = 1000) {
  return {.threads = 1,
          .peak_gflops = 100,
          .levels = {{"L1", cache_bytes, 100, 100, 100}, {"DRAM", 0, 10, 10, 10}},
          .step_overhead_ms = 0.001};
}

HardwareProfile streaming(std::int64_t features, std::int64_t batch, double interval_ms,
                          const Roofline& roofline) {
  Prepared prepared = prepare_to_run(streaming_model(features, batch), "stream", {});
  return estimate_stream(std::move(prepared), interval_ms, roofline, streaming_operators());
}

HardwareProfile any_model(Graph graph, double interval_ms, const Roofline& roofline,
                          std::map<std::string, Shape> shapes = {}) {
  RunOptions run;
  run.bindings.input_shapes = std::move(shapes);
  return estimate_stream(prepare_to_run(std::move(graph), "any", run), interval_ms, roofline);
}

std::vector<std::string> names_of(const HardwareProfile& profile) {
  std::vector<std::string> names;
  for (const auto& row : profile.operator_profile) names.push_back(row.operator_name);
  return names;
}

TEST(HardwareProfile, HasTheFourOperatorsInOrder) {
  const auto profile = streaming(8, 2, 10, round_numbers());
  EXPECT_EQ(names_of(profile), (std::vector<std::string>{"input_normalization", "linear_projection",
                                                         "activation", "decision_head"}));
  EXPECT_EQ(profile.operator_profile[3].fused, std::vector<std::string>{"decision_head.sigmoid"});
  EXPECT_EQ(profile.batch, 2);
}

TEST(HardwareProfile, MemoryIsBytesReadWithTheParametersOnceAndBytesWritten) {
  const auto rows = streaming(8, 2, 10, round_numbers()).operator_profile;
  const double activations = 2 * 8 * 4;
  // Weight, bias, mean and variance of 8 features each.
  EXPECT_DOUBLE_EQ(*rows[0].memory_kb * 1024, activations + 4 * 8 * 4 + activations);
  EXPECT_DOUBLE_EQ(*rows[1].memory_kb * 1024, activations + (8 * 8 + 8) * 4 + activations);
  EXPECT_DOUBLE_EQ(*rows[2].memory_kb * 1024, activations + activations);
  // The sigmoid works on what the product has at hand: only its result is written.
  EXPECT_DOUBLE_EQ(*rows[3].memory_kb * 1024, activations + (8 + 1) * 4 + 2 * 4);
}

TEST(HardwareProfile, LatencyIsTheLeastTimeAndTheOverheadOfAStep) {
  const auto profile = streaming(8, 2, 10, round_numbers(1 << 20));
  // Everything in L1 at 100 GB/s: 416 bytes of the projection take 4.16 ns, 2·2·8·8 + 16 FLOPs
  // less.
  EXPECT_NEAR(*profile.operator_profile[1].latency_ms, 0.001 + 416 / 100e6, 1e-12);
  EXPECT_EQ(profile.operator_profile[1].bound, Bound::Overhead);
}

TEST(HardwareProfile, WeightsThatNoCacheHoldsComeFromMemory) {
  const auto profile = streaming(256, 1, 10, round_numbers());
  const OperatorProfile& projection = profile.operator_profile[1];
  EXPECT_EQ(projection.bound, Bound::Memory);
  EXPECT_EQ(projection.bound_level, "DRAM");
  // 256·256 weights and 256 biases at 10 GB/s, but for what stays in the cache.
  const double weights = (256 * 256 + 256) * 4;
  EXPECT_LT(*projection.latency_ms, 0.001 + (weights + 2 * 256 * 4) / 10e6);
  EXPECT_GT(*projection.latency_ms, 0.001 + (weights - 1000) / 10e6);
}

TEST(HardwareProfile, TotalsSumUpAndTheCappedUtilisationComesWithTheUncappedRatio) {
  const auto profile = streaming(256, 1, 0.01, round_numbers());
  double latency_ms = 0;
  double memory_kb = 0;
  for (const auto& row : profile.operator_profile) {
    latency_ms += *row.latency_ms;
    memory_kb += *row.memory_kb;
  }
  const StreamTotals& totals = profile.totals;
  EXPECT_DOUBLE_EQ(totals.latency_ms, latency_ms);
  EXPECT_DOUBLE_EQ(totals.memory_kb, memory_kb);
  EXPECT_DOUBLE_EQ(totals.estimated_bandwidth_mb_s, memory_kb / 1024 / (latency_ms / 1000));
  EXPECT_DOUBLE_EQ(totals.overhead_ms, 4 * 0.001);
  EXPECT_GT(latency_ms, 0.01);
  EXPECT_EQ(totals.stream_utilization, 1);
  EXPECT_DOUBLE_EQ(totals.stream_utilization_uncapped, latency_ms / 0.01);
  EXPECT_LT(streaming(256, 1, 10, round_numbers()).totals.stream_utilization, 0.01);
}

TEST(HardwareProfile, PrecisionsAreHalfAndAQuarterOfFp32) {
  const auto profile = streaming(8, 2, 10, round_numbers());
  const PrecisionTradeoffs& tradeoffs = profile.precision_tradeoffs;
  EXPECT_DOUBLE_EQ(tradeoffs.fp32_memory_kb, profile.totals.memory_kb);
  EXPECT_DOUBLE_EQ(tradeoffs.fp16_memory_kb, 0.5 * profile.totals.memory_kb);
  EXPECT_DOUBLE_EQ(tradeoffs.int8_memory_kb, 0.25 * profile.totals.memory_kb);
}

TEST(HardwareProfile, SentencesFollowFromTheSizesAndTheCaches) {
  const auto small = streaming(8, 1, 10, round_numbers(10'000));
  EXPECT_THAT(small.edge_constraints.cache_sensitivity, HasSubstr("stays in L1 (9.77 KiB"));
  EXPECT_THAT(small.edge_constraints.bottleneck, HasSubstr("starting 4 steps takes 4.000 µs"));
  EXPECT_THAT(small.precision_tradeoffs.note, HasSubstr("still stays in L1"));
  const auto large = streaming(512, 1, 0.01, round_numbers(10'000));
  EXPECT_THAT(large.edge_constraints.cache_sensitivity, HasSubstr("times L1"));
  EXPECT_THAT(large.edge_constraints.bottleneck, HasSubstr("Memory bounds"));
  EXPECT_THAT(large.edge_constraints.bottleneck, HasSubstr("linear_projection"));
  EXPECT_THAT(large.edge_constraints.bottleneck, HasSubstr("times as fast as they can be done"));
  EXPECT_THAT(large.precision_tradeoffs.note, HasSubstr("no cache holds a run"));
  const auto many = streaming(64, 4096, 10, round_numbers(1 << 30));
  EXPECT_THAT(many.edge_constraints.bottleneck, HasSubstr("Arithmetic bounds"));
  // 36 KiB as they are, 9 KiB in int8.
  const auto between = streaming(90, 1, 10, round_numbers(10'000));
  EXPECT_THAT(between.precision_tradeoffs.note, HasSubstr("from memory into L1"));
}

TEST(HardwareProfile, ElementWiseLayersAreComputedWithTheLayerBeforeThem) {
  const Graph graph =
      Sequential({Linear(4, 8, {.name = "first"}), Relu("relu"), Softmax(-1, "softmax"),
                  Linear(8, 2, {.name = "second"}), Sigmoid("sigmoid"), Tanh("tanh")});
  const auto profile = any_model(graph, 10, round_numbers(), {{"input", Shape{3, 4}}});
  EXPECT_EQ(names_of(profile), (std::vector<std::string>{"first", "softmax", "second"}));
  EXPECT_EQ(profile.operator_profile[0].fused, (std::vector<std::string>{"first.add", "relu"}));
  EXPECT_EQ(profile.operator_profile[2].fused,
            (std::vector<std::string>{"second.add", "sigmoid", "tanh"}));
  // Read 3·4, weights 4·8 + 8, written 3·8: nothing between product and activation.
  EXPECT_DOUBLE_EQ(*profile.operator_profile[0].memory_kb * 1024, 4 * (3 * 4 + 4 * 8 + 8 + 3 * 8));
}

TEST(HardwareProfile, AValueThatTwoLayersReadIsWritten) {
  GraphBuilder builder("residual");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 4});
  const ValueId a = Linear(4, 4, {.name = "a"})(builder, x);
  const ValueId relu = Relu("relu")(builder, a);
  builder.output(builder.node("Add", "sum", {relu, a}), "y");
  const auto profile = any_model(builder.finish(), 10, round_numbers());
  // Both relu and sum read a, so a is made on its own; sum joins relu.
  EXPECT_EQ(names_of(profile), (std::vector<std::string>{"a", "relu"}));
  EXPECT_DOUBLE_EQ(*profile.operator_profile[1].memory_kb * 1024, 4 * (2 * 4 + 2 * 4 + 2 * 4));
}

TEST(HardwareProfile, AnUnknownOperatorHasNoFigures) {
  GraphBuilder builder("odd");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 4});
  const ValueId y = builder.node("NobodyKnowsThis", "odd", {x});
  builder.output(y, "y");
  const auto profile = any_model(builder.finish(), 10, round_numbers());
  ASSERT_EQ(profile.operator_profile.size(), 1u);
  EXPECT_FALSE(profile.operator_profile[0].latency_ms);
  EXPECT_FALSE(profile.operator_profile[0].memory_kb);
  EXPECT_THAT(profile.edge_constraints.bottleneck, HasSubstr("The cost of this model is unknown"));
  EXPECT_FALSE(profile.warnings.empty());
}

TEST(HardwareProfile, AWiderProjectionHasMoreWeights) {
  const Graph wide = streaming_model(8, 1, 32);
  const auto profile =
      estimate_stream(prepare_to_run(wide, "wide", {}), 10, round_numbers(), streaming_operators());
  EXPECT_DOUBLE_EQ(*profile.operator_profile[1].memory_kb * 1024, 4 * (8 + 8 * 32 + 32 + 32));
}

// Everything takes twice its least time; nine in ten networks are predicted within 50 %.
Calibration at_half_of_the_roof() {
  Calibration calibration{.threads = 1, .network_count = 1};
  for (const char* kind : {"product", "norm", "element-wise", "Concat"}) {
    calibration.samples.push_back({.family = "a",
                                   .op_class = kind,
                                   .flops = 1e6,
                                   .weight_bytes = 1e6,
                                   .activation_bytes = 1e6,
                                   .roof_ms = 1,
                                   .time_ms = 2});
  }
  calibration.held_out = {{"a", 10, 15, 1}};
  return calibration;
}

HardwareProfile calibrated(Graph graph, double interval_ms,
                           const Calibration& calibration = at_half_of_the_roof()) {
  return estimate_stream(prepare_to_run(std::move(graph), "any", {}), interval_ms, round_numbers(),
                         {}, &calibration);
}

Graph two_products() {
  GraphBuilder builder("joined");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 64});
  const ValueId a = Linear(64, 64, {.name = "a"})(builder, x);
  const ValueId b = Linear(64, 64, {.name = "b"})(builder, x);
  builder.output(builder.node("Concat", "joined", {a, b}, {{"axis", std::int64_t{1}}}), "y");
  return builder.finish();
}

TEST(CalibratedStream, TakesAsLongAsFitEstimates) {
  const Calibration calibration = at_half_of_the_roof();
  Calibration with_overhead = calibration;
  with_overhead.step_overhead_ms = round_numbers().step_overhead_ms;
  Device here{.id = "here", .name = "here", .kind = DeviceKind::Machine};
  const auto figure = [](double value) {
    return Figures{{.value = value, .provenance = FigureProvenance::Measured}};
  };
  here.cores = figure(1);
  here.memory_bandwidth_gbps = figure(10);
  here.caches = {{.level = 1, .bytes = figure(1000), .bandwidth_gbps = figure(100)}};
  here.peaks["fp32"] = figure(100);
  const FitReport fit = fit_model(two_products(), "any", {here}, with_overhead);
  const HardwareProfile stream = calibrated(two_products(), 10, with_overhead);
  EXPECT_NEAR(stream.totals.latency_ms, *fit.devices[0].estimate_ms, 1e-9);
  EXPECT_NEAR(*stream.forecast.latency_high_ms, *fit.devices[0].estimate_high_ms, 1e-9);
}

TEST(CalibratedStream, ListsCopiesThatTheEngineMakes) {
  EXPECT_EQ(names_of(calibrated(two_products(), 10)),
            (std::vector<std::string>{"a", "b", "joined"}));
  EXPECT_EQ(names_of(any_model(two_products(), 10, round_numbers())),
            (std::vector<std::string>{"a", "b"}));
  Calibration without_copies = at_half_of_the_roof();
  for (auto& sample : without_copies.samples) sample.time_ms = 0;
  EXPECT_EQ(std::ranges::count(names_of(calibrated(two_products(), 10, without_copies)), "joined"),
            0);
}

TEST(CalibratedStream, HasAVerdictAndTheIntervalThatWouldDo) {
  const double latency_ms = calibrated(two_products(), 10).totals.latency_ms;
  const auto ample = calibrated(two_products(), 10 * latency_ms).forecast;
  EXPECT_EQ(ample.outlook, StreamOutlook::KeepsUp);
  EXPECT_THAT(ample.reason, HasSubstr("10 times as fast as needed"));
  const auto tight = calibrated(two_products(), 1.2 * latency_ms).forecast;
  EXPECT_EQ(tight.outlook, StreamOutlook::Tight);
  EXPECT_DOUBLE_EQ(*tight.latency_high_ms, 1.5 * latency_ms);
  const auto slow = calibrated(two_products(), latency_ms / 2).forecast;
  EXPECT_EQ(slow.outlook, StreamOutlook::TooSlow);
  EXPECT_THAT(slow.reason, HasSubstr("2 times too slow; an interval of"));
}

TEST(UncalibratedStream, IsALowerBoundThatOnlySaysNo) {
  const auto ample = any_model(two_products(), 10, round_numbers()).forecast;
  EXPECT_FALSE(ample.is_calibrated);
  EXPECT_EQ(ample.outlook, StreamOutlook::Unknown);
  EXPECT_THAT(ample.reason, HasSubstr("a lower bound; measure it, or call `calibrate` once"));
  const auto slow = any_model(two_products(), 0.001, round_numbers()).forecast;
  EXPECT_EQ(slow.outlook, StreamOutlook::TooSlow);
  EXPECT_THAT(slow.reason, HasSubstr("times too slow"));
}

template <typename Call>
std::string refusal(Call call) {
  return error_message(ErrorKind::Usage, call);
}

TEST(HardwareProfile, RefusesWhatCannotBeStreamed) {
  for (const double interval_ms : std::vector<double>{0, -1, NAN, INFINITY, 1e12, 1e-9}) {
    EXPECT_THAT(refusal([&] { build_hardware_profile_table(8, 1, interval_ms); }),
                HasSubstr("expected 0.001 to 8.64e+07 ms"));
  }
  EXPECT_THAT(refusal([] { build_hardware_profile_table(0, 1, 10); }),
              HasSubstr("feature_count is 0, expected 1 to 16384"));
  EXPECT_THAT(refusal([] { build_hardware_profile_table(8, 0, 10); }),
              HasSubstr("batch_size is 0"));
  EXPECT_THAT(refusal([] { streaming_model(8, 1, -1); }), HasSubstr("width is -1"));
}

TEST(HardwareProfile, OfThisMachineHasItsCeilings) {
  HardwareProfileOptions options;
  options.run.program.cpu.threads = 1;
  const auto profile = build_hardware_profile_table(64, 1, 10, options);
  EXPECT_EQ(profile.roofline.threads, 1);
  EXPECT_GT(profile.roofline.step_overhead_ms, 0);
  EXPECT_GT(profile.totals.latency_ms, profile.totals.overhead_ms);
  EXPECT_EQ(profile.model.name, "zoo:stream_mlp:features=64,batch=1");
}

}  // namespace
}  // namespace assay
