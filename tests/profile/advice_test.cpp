#include "assay/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/judge.h"

namespace assay {

using namespace assay::profile;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// 100 GFLOP/s and 10 GB/s: 1 ms is 100 MFLOP or 10 MB. A kilobyte of cache keeps nothing.
const Roofline kRoofline{.instruction_set = "AVX-512",
                         .peak_gflops = 100,
                         .int8_peak_gflops = 400,
                         .levels = {{"L1", 1000, 1000, 1000, 1000}, {"DRAM", 0, 10, 10, 10}}};

struct Work {
  std::int64_t flops = 0;
  std::int64_t weights = 0;
  std::int64_t reads = 0;
  std::int64_t writes = 0;
};

constexpr std::int64_t kMillion = 1'000'000;

// A profile made of layers of one step each.
class AdviceTest : public ::testing::Test {
 protected:
  AdviceTest() {
    profile.program.cpu.threads = 1;
    profile.memory.peak_bytes = 1000 * kMillion;
  }

  ProfileLayer& add(const std::string& name, const std::string& op, const std::string& algorithm,
                    double time_ms, const Work& work) {
    const auto id = static_cast<std::uint32_t>(profile.layers.size());
    ProfileStep step{.info = {.name = name,
                              .op = op,
                              .layers = {NodeId{id}},
                              .algorithm = algorithm,
                              .executed_flops = work.flops,
                              .bytes_read = work.weights + work.reads,
                              .weight_bytes = work.weights,
                              .bytes_written = work.writes},
                     .layer_names = {name},
                     .time_ms = time_ms};
    ProfileLayer layer{.cost = {.name = name, .op = op, .node = NodeId{id}}, .time_ms = time_ms};
    layer.steps = {profile.steps.size()};
    layer.cost.macs = layer.cost.effective_macs = work.flops / 2;
    layer.cost.parameters = work.weights / 4;
    layer.cost.parameter_bytes = work.weights;
    profile.steps.push_back(std::move(step));
    profile.layers.push_back(std::move(layer));
    profile.latency.latency.median_ms += time_ms;
    return profile.layers.back();
  }

  // A step that takes most of the time and to which no rule applies.
  void add_quiet(double time_ms) { add("quiet", "Custom", "", time_ms, {}); }

  void judged() { judge(profile, roofline); }

  std::optional<Advice> advice(const std::string& rule) {
    for (const Advice& one : advise(profile)) {
      if (one.rule == rule) return one;
    }
    return {};
  }

  Profile profile = {};
  Roofline roofline = kRoofline;
};

// --- weights

TEST_F(AdviceTest, WeightsFromMemoryShrinkToAQuarter) {
  // 40 MB of weights and 0.1 MB of activations in 5 ms: 4.01 ms at the ceiling, 80 % of it.
  add("fc", "Gemm", "brgemm", 5, {.weights = 40 * kMillion, .reads = 100'000});
  judged();
  const auto advised = advice("memory-bound-weights");
  ASSERT_TRUE(advised);
  EXPECT_THAT(advised->layers, ElementsAre("fc"));
  // At 80 %, 10.1 MB take about 5 · 10.1 / 40.1 = 1.26 ms.
  EXPECT_NEAR(advised->saving_ms, 5 - 5 * 10.1 / 40.1, 0.01);
  EXPECT_THAT(advised->reason, HasSubstr("5.000 ms (100 % of the run) for 38.2 MiB"));
  EXPECT_THAT(advised->reason, HasSubstr("8.02 GB/s, 80 % of the measured ceiling"));
  EXPECT_THAT(advised->reason, HasSubstr("DRAM reads 10.0 GB/s"));
  EXPECT_THAT(advised->action, HasSubstr("1.25"));
  EXPECT_FALSE(advised->once);
}

TEST_F(AdviceTest, WeightsThatArithmeticUsesOftenEnoughStayAsTheyAre) {
  add("conv", "Conv", "direct", 5, {.flops = 450 * kMillion, .weights = 4 * kMillion});
  judged();
  EXPECT_FALSE(advice("memory-bound-weights"));
  EXPECT_FALSE(advice("small-batch"));
}

TEST_F(AdviceTest, WeightsOfOneByteAreSmallAlready) {
  ProfileLayer& layer = add("fc", "Gemm", "brgemm", 5, {.weights = 40 * kMillion});
  layer.cost.parameters = layer.cost.parameter_bytes;
  judged();
  EXPECT_FALSE(advice("memory-bound-weights"));
  EXPECT_TRUE(advice("small-batch"));
}

TEST_F(AdviceTest, BatchOfEightReadsTheWeightsOnce) {
  add("fc", "Gemm", "brgemm", 5, {.flops = 20 * kMillion, .weights = 40 * kMillion});
  judged();
  const auto advised = advice("small-batch");
  ASSERT_TRUE(advised);
  // 4 ms at the ceiling, 80 % reached; eight samples compute 1.6 ms and still read 4 ms.
  EXPECT_NEAR(advised->saving_ms, 5 - 5.0 / 8, 0.001);
  EXPECT_THAT(advised->reason, HasSubstr("38.1 MiB of weights are read for a batch of 1"));
  EXPECT_THAT(advised->action, HasSubstr("`batch` 8"));
}

TEST_F(AdviceTest, FarBelowTheCeilingOnlyTheSavingOfTheCeilingCounts) {
  // 4 ms at the ceiling, a fifth of the time: a quarter of the weights takes 3 ms less at best.
  add("fc", "Gemm", "brgemm", 20, {.weights = 40 * kMillion});
  judged();
  EXPECT_NEAR(advice("memory-bound-weights")->saving_ms, 3, 0.001);
  EXPECT_FALSE(advice("small-batch"));
}

TEST_F(AdviceTest, BatchOfEightIsNotTooSmall) {
  add("fc", "Gemm", "brgemm", 5, {.weights = 40 * kMillion});
  profile.batch = 8;
  judged();
  EXPECT_FALSE(advice("small-batch"));
}

// --- activations

TEST_F(AdviceTest, ElementWiseStepFusedLeavesItsOtherOperand) {
  // Reads two operands of 10 MB and writes one in 3 ms; the second operand stays.
  add("add", "Add", "element-wise", 3, {.reads = 20 * kMillion, .writes = 10 * kMillion});
  judged();
  const auto advised = advice("unfused-elementwise");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 2.0, 0.001);
  EXPECT_THAT(advised->reason, HasSubstr("28.6 MiB of activations: 10.0 GB/s, 100 % of"));
  EXPECT_FALSE(advice("memory-bound-activations"));
}

TEST_F(AdviceTest, PoolKeepsItsStepAndHalvesItsBytes) {
  add("pool", "MaxPool", "jit", 4, {.reads = 16 * kMillion, .writes = 4 * kMillion});
  judged();
  const auto advised = advice("memory-bound-activations");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 2.0, 0.001);
  EXPECT_FALSE(advice("unfused-elementwise"));
}

TEST_F(AdviceTest, ElementWiseStepBoundByArithmeticIsLeftAlone) {
  add("erf", "Erf", "element-wise", 4, {.flops = 300 * kMillion, .reads = kMillion});
  judged();
  EXPECT_FALSE(advice("unfused-elementwise"));
  EXPECT_FALSE(advice("memory-bound-activations"));
}

// --- convolutions

TEST_F(AdviceTest, DepthwiseAtLowEfficiencyCouldReachSixtyPercent) {
  add("dw", "Conv", "jit_dw", 4,
      {.flops = 4 * kMillion, .reads = 6 * kMillion, .writes = 6 * kMillion})
      .cost.form = "depthwise 3x3";
  judged();  // 12 MB are 1.2 ms, 30 % of the time
  const auto advised = advice("inefficient-depthwise");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 4 - 1.2 / 0.6, 0.001);
  EXPECT_THAT(advised->reason, HasSubstr("at 30 % of their ceilings: 0.3 FLOPs"));
  EXPECT_THAT(advised->action, HasSubstr("multiple of 16, unlike 1 of 1 now"));
  profile.layers[0].cost.output_shape = Shape{1, 32, 14, 14};
  EXPECT_EQ(advice("inefficient-depthwise")->action.find("multiple of"), std::string::npos);
}

TEST_F(AdviceTest, DepthwiseThatIsFastOrHardlyMattersIsLeftAlone) {
  add("fast", "Conv", "jit_dw", 4, {.reads = 20 * kMillion}).cost.form = "depthwise 3x3";
  add("small", "Conv", "jit_dw", 0.1, {.reads = 100'000}).cost.form = "depthwise 3x3";
  judged();
  EXPECT_FALSE(advice("inefficient-depthwise"));
}

TEST_F(AdviceTest, WinogradIsNamedWhereMemoryForbadeIt) {
  add("conv", "Conv", "brgconv", 10, {.flops = 500 * kMillion, .weights = kMillion}).cost.form =
      "3x3";
  profile.program.optimize_for = OptimizeFor::Memory;
  judged();
  const auto advised = advice("winograd-not-allowed");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 10 - 10 / 4.0, 0.001);  // 4 MB of weights still take less
  EXPECT_THAT(advised->reason, HasSubstr("500 MFLOPs of 3x3 convolutions at 50 %"));
  EXPECT_THAT(advised->action, HasSubstr("`optimize_for` latency"));
  EXPECT_THAT(advised->action, HasSubstr("977 KiB of weights become 1.70 MiB to 3.81 MiB"));
}

TEST_F(AdviceTest, WinogradIsNotNamedWhereItWasAllowedOrCannotApply) {
  const Work work{.flops = 500 * kMillion};
  add("conv", "Conv", "brgconv", 10, work).cost.form = "3x3";
  judged();
  EXPECT_FALSE(advice("winograd-not-allowed"));
  profile.program.optimize_for = OptimizeFor::Memory;
  profile.layers[0].cost.form = "3x3/2";
  EXPECT_FALSE(advice("winograd-not-allowed"));
}

// --- waste

TEST_F(AdviceTest, TilesThatOverhangTheImageAreWaste) {
  ProfileLayer& layer = add("conv", "Conv", "winograd 4x4", 10, {.flops = 500 * kMillion});
  layer.cost.output_shape = Shape{16, 512, 7, 7};
  judged();
  const auto advised = advice("padding-waste");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 10 * (1 - 49.0 / 64.0), 1e-9);
  EXPECT_THAT(advised->reason, HasSubstr("covers 7x7 pixels with tiles for 8x8, 23 % of them"));
}

TEST_F(AdviceTest, PaddingThatIsMultipliedIsWaste) {
  ProfileLayer& layer = add("conv", "Conv", "im2col gemm", 10, {.flops = 500 * kMillion});
  layer.cost.output_shape = Shape{1, 512, 7, 7};
  layer.cost.effective_macs = layer.cost.macs * 8 / 10;
  judged();
  const auto advised = advice("padding-waste");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 2.0, 1e-6);
  EXPECT_THAT(advised->reason, HasSubstr("20 % of its multiplications on padding"));
}

TEST_F(AdviceTest, TilesThatFitAndDirectConvolutionsWasteNothing) {
  add("fits", "Conv", "winograd 4x4", 10, {.flops = 500 * kMillion}).cost.output_shape =
      Shape{1, 64, 56, 56};
  ProfileLayer& direct = add("direct", "Conv", "brgconv", 10, {.flops = 500 * kMillion});
  direct.cost.output_shape = Shape{1, 64, 7, 7};
  direct.cost.effective_macs = direct.cost.macs / 2;
  judged();
  EXPECT_FALSE(advice("padding-waste"));
}

TEST_F(AdviceTest, TilesThatOverhangALittleAreNotNamed) {
  add("conv", "Conv", "winograd 4x4", 10, {.flops = 500 * kMillion}).cost.output_shape =
      Shape{1, 64, 15, 15};  // 225 of 256 pixels: 12 %
  judged();
  EXPECT_FALSE(advice("padding-waste"));
}

TEST_F(AdviceTest, ChannelsThatMissTheVectorWidthLeaveLanesEmpty) {
  add("conv", "Conv", "jit", 10, {.flops = 500 * kMillion}).cost.output_shape =
      Shape{1, 24, 56, 56};
  judged();
  const auto advised = advice("odd-channels");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 10 * (1 - 24.0 / 32.0), 1e-9);
  EXPECT_THAT(advised->reason, HasSubstr("24 output channels in the slowest fill 2 vectors of 16"));
  EXPECT_THAT(advised->action, HasSubstr("16 channels take 50 % less time, 32 take no more"));
}

TEST_F(AdviceTest, ChannelsOfAProductAreItsLastDimension) {
  add("fc", "Gemm", "brgemm", 10, {.flops = 500 * kMillion}).cost.output_shape = Shape{64, 20};
  roofline.instruction_set = "NEON";
  judged();
  EXPECT_FALSE(advice("odd-channels"));  // 5 vectors of 4
  profile.roofline->instruction_set = "AVX2 FMA";
  const auto advised = advice("odd-channels");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 10 * (1 - 20.0 / 24.0), 1e-9);
}

TEST_F(AdviceTest, LanesAreNotEmptyWhereTheCeilingIsNearerThanTheyAllow) {
  add("conv", "Conv", "jit", 10, {.flops = 900 * kMillion}).cost.output_shape =
      Shape{1, 24, 56, 56};
  judged();
  EXPECT_FALSE(advice("odd-channels"));
}

// --- precision

TEST_F(AdviceTest, Int8SavesByTheRatioOfMeasuredPeaks) {
  add("fc", "Gemm", "brgemm", 10, {.flops = 500 * kMillion});
  judged();
  const auto advised = advice("lower-precision");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 10 * (1 - 100.0 / 400.0), 1e-6);
  EXPECT_THAT(advised->reason, HasSubstr("at 50 % of the measured 100 GFLOP/s; int8 was measured "
                                         "at 400, 4.0 times as much"));
}

TEST_F(AdviceTest, Int8IsNotAdvisedWhereWinogradSavesAsMuch) {
  // 2 · 1,000 M multiply-adds, of which Winograd executes a quarter.
  add("conv", "Conv", "winograd 4x4", 10, {.flops = 500 * kMillion}).cost.effective_macs =
      1000 * kMillion;
  judged();
  EXPECT_FALSE(advice("lower-precision"));
}

TEST_F(AdviceTest, Int8IsAdvisedWhereWinogradMultipliesIntegersOf16Bits) {
  add("conv", "Conv", "winograd 4x4", 10, {.flops = 500 * kMillion}).cost.effective_macs =
      1000 * kMillion;
  roofline.peaks_gflops["int16"] = 200;
  judged();
  const auto advised = advice("lower-precision");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 10 * (1 - 100.0 / 200.0), 1e-6);
}

TEST_F(AdviceTest, LayersThatAreInt8AlreadyAreNotToBeQuantised) {
  add("lstm", "DynamicQuantizeLSTM", "vnni", 10, {.flops = 500 * kMillion});
  profile.steps[0].info.precision = "int8";
  judged();
  EXPECT_FALSE(advice("lower-precision"));
}

TEST_F(AdviceTest, LayersOfWeightsIn4BitsAreNotToBeQuantised) {
  ProfileLayer& layer =
      add("fc", "MatMulNBits", "4-bit weights", 10, {.flops = 500 * kMillion, .weights = 4000});
  layer.cost.parameters = 1000 * 8;  // 4 bits each
  judged();
  EXPECT_FALSE(advice("lower-precision"));
}

TEST_F(AdviceTest, Bf16IsNamedBesideInt8WhereItWasMeasured) {
  roofline.peaks_gflops = {{"fp32", 100}, {"bf16", 800}};
  roofline.instruction_sets = {{"bf16", "AMX"}};
  add("fc", "Gemm", "brgemm", 8, {.flops = 800 * kMillion});
  judged();
  EXPECT_THAT(advice("lower-precision")->action,
              HasSubstr("; or run the model in bf16 (`precision`), measured at 800 with AMX: 1.000 "
                        "ms would be left of 8.000 ms"));
  profile.program.precision = DataType::BFloat16;
  EXPECT_THAT(advice("lower-precision")->action, Not(HasSubstr("bf16")));
}

TEST_F(AdviceTest, Int8IsNotNamedWhereItsPeakWasNotMeasured) {
  roofline.int8_peak_gflops.reset();
  add("fc", "Gemm", "brgemm", 10, {.flops = 500 * kMillion});
  judged();
  EXPECT_FALSE(advice("lower-precision"));
}

// --- what fell back

TEST_F(AdviceTest, StepThatFellBackCouldReachItsCeiling) {
  add("odd", "Odd", "reference", 5, {.reads = 5 * kMillion, .writes = 5 * kMillion});
  profile.steps[0].info.fell_back = "no fast kernel for this form of Odd";
  judged();
  const auto advised = advice("fell-back");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 5 - 1.0, 0.001);
  EXPECT_THAT(advised->reason, HasSubstr("no fast kernel for this form of Odd"));
  EXPECT_FALSE(advice("memory-bound-activations"));
}

TEST_F(AdviceTest, StepThatFellBackCountsTheWorkOfItsLayer) {
  add("odd", "Odd", "reference", 5, {.reads = 1000});
  profile.steps[0].info.fell_back = "no fast kernel";
  profile.steps[0].rates.gflops_per_second = 60;  // 300 MFLOP in 5 ms: 3 ms at the peak
  judged();
  EXPECT_NEAR(advice("fell-back")->saving_ms, 2.0, 0.001);
}

TEST_F(AdviceTest, WithoutCeilingsOnlyRulesThatNeedNoneApply) {
  add("odd", "Odd", "reference", 5, {.reads = 5 * kMillion});
  profile.steps[0].info.fell_back = "no fast kernel";
  add("fc", "Gemm", "brgemm", 5, {.weights = 40 * kMillion});
  const auto all = advise(profile);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].rule, "fell-back");
  EXPECT_DOUBLE_EQ(all[0].saving_ms, 5);
  EXPECT_THAT(all[0].action, HasSubstr("at most all of that time"));
}

TEST_F(AdviceTest, RunOfTheReferenceEngineGetsOneAdvice) {
  add("fc", "Gemm", "reference", 50, {.flops = 20 * kMillion, .weights = 40 * kMillion});
  profile.program.engine = "reference";
  judged();
  const auto all = advise(profile);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].rule, "reference-engine");
  EXPECT_NEAR(all[0].saving_ms, 46, 0.01);
}

TEST_F(AdviceTest, FastStepsDidNotFallBack) {
  add("fc", "Gemm", "brgemm", 5, {.weights = 40 * kMillion});
  judged();
  EXPECT_FALSE(advice("fell-back"));
  EXPECT_FALSE(advice("reference-engine"));
}

// --- overhead

TEST_F(AdviceTest, LargerBatchSharesStepOverhead) {
  roofline.step_overhead_ms = 0.01;
  for (int i = 0; i < 10; ++i) add("tiny" + std::to_string(i), "Relu", "", 0.015, {.reads = 1000});
  profile.program.cpu.threads = 2;
  judged();
  const auto advised = advice("overhead");
  ASSERT_TRUE(advised);
  EXPECT_NEAR(advised->saving_ms, 10 * 0.01 * 7 / 8, 1e-9);
  EXPECT_THAT(advised->reason, HasSubstr("to start and end 10 steps, 10.00 µs for each"));
  EXPECT_THAT(advised->action, HasSubstr("`threads` 1"));
  EXPECT_THAT(advised->reason, HasSubstr("little else: 10, 150.0 µs (100 % of the run)"));
  EXPECT_EQ(advised->layers.size(), 10u);
}

TEST_F(AdviceTest, StepOverheadIsAtMostTheTimeOfTheStep) {
  roofline.step_overhead_ms = 0.01;
  add("shorter", "Relu", "", 0.002, {.reads = 1000});
  add("longer", "Gemm", "brgemm", 0.05, {.weights = 400'000});
  judged();
  EXPECT_NEAR(advice("overhead")->saving_ms, (0.002 + 0.01) * 7 / 8, 1e-9);
}

TEST_F(AdviceTest, StepOverheadIsNotNamedForLongSteps) {
  roofline.step_overhead_ms = 0.01;
  add("fc", "Gemm", "brgemm", 5, {.weights = 40 * kMillion});
  judged();
  EXPECT_FALSE(advice("overhead"));
}

TEST_F(AdviceTest, LayoutChangesNameTheLayersOnBothSides) {
  add("first", "Conv", "winograd 4x4", 5, {.flops = 500 * kMillion});
  ProfileStep reorder{.info = {.name = "first (reorder)", .op = "Reorder", .layers = {NodeId{0}}},
                      .layer_names = {"first"},
                      .time_ms = 1};
  reorder.info.bytes_read = reorder.info.bytes_written = 2 * kMillion;
  profile.layers[0].steps.push_back(1);
  profile.steps.push_back(reorder);
  profile.latency.latency.median_ms += 1;
  add("second", "Conv", "jit", 5, {.flops = 500 * kMillion});
  judged();
  const auto advised = advice("layout-changes");
  ASSERT_TRUE(advised);
  EXPECT_DOUBLE_EQ(advised->saving_ms, 1);
  EXPECT_THAT(advised->layers, ElementsAre("first"));
  EXPECT_THAT(advised->reason, HasSubstr("between first (winograd 4x4) and second (jit)"));
  EXPECT_THAT(advised->action, HasSubstr("so that both use one layout"));
  profile.steps[2].info.op = "Gemm";
  EXPECT_THAT(advice("layout-changes")->action, HasSubstr("pool images to one pixel"));
  profile.latency.latency.median_ms = 100;
  EXPECT_FALSE(advice("layout-changes"));
}

// --- starting up

TEST_F(AdviceTest, StartUpIsSavedOnceAndComesLast) {
  add("fc", "Gemm", "brgemm", 5, {.weights = 40 * kMillion});
  profile.start_up = {.compile_ms = 500, .first_run_ms = 10};
  profile.stored_bytes = 40 * kMillion;
  profile.memory.program.weight_bytes = 40 * kMillion;
  judged();
  const auto all = advise(profile);
  ASSERT_GT(all.size(), 1u);
  EXPECT_EQ(all.back().rule, "start-up");
  EXPECT_TRUE(all.back().once);
  EXPECT_NEAR(all.back().saving_ms, 500 - 8, 0.01);  // 40 MB read and 40 MB written at 10 GB/s
  EXPECT_THAT(all.back().reason, HasSubstr("as long as 102 runs"));
}

TEST_F(AdviceTest, StartUpIsNotNamedWhereChoicesAreKeptOrNoneIsMade) {
  add("fc", "Gemm", "brgemm", 5, {.weights = 40 * kMillion});
  profile.start_up = {.compile_ms = 500, .first_run_ms = 10};
  judged();
  profile.program.tuning_file = "kept";
  EXPECT_FALSE(advice("start-up"));
  profile.program.tuning_file = "";
  profile.program.tuning_cache = "cached";
  EXPECT_FALSE(advice("start-up"));
  profile.program.tuning_cache = "";
  profile.program.optimize_for = OptimizeFor::Memory;
  EXPECT_FALSE(advice("start-up"));
  profile.program.optimize_for = OptimizeFor::Latency;
  EXPECT_TRUE(advice("start-up"));
  profile.start_up.compile_ms = 60;  // 14 runs
  EXPECT_FALSE(advice("start-up"));
}

// --- all together

TEST_F(AdviceTest, LargestSavingComesFirstAndSavingsBelowOnePercentAreLeftOut) {
  add("fc", "Gemm", "brgemm", 5, {.flops = 20 * kMillion, .weights = 40 * kMillion});
  add("pool", "MaxPool", "jit", 2, {.reads = 20 * kMillion});
  add("add", "Add", "element-wise", 0.05, {.reads = 250'000, .writes = 250'000});
  judged();
  std::vector<std::string> rules;
  for (const Advice& one : advise(profile)) rules.push_back(one.rule);
  EXPECT_THAT(rules,
              ElementsAre("small-batch", "memory-bound-weights", "memory-bound-activations"));
  add_quiet(200);
  EXPECT_FALSE(advice("memory-bound-activations"));  // 1 ms of 207
}

TEST_F(AdviceTest, NothingIsAdvisedWhereNothingWasMeasured) {
  EXPECT_TRUE(advise(profile).empty());
}

TEST(Roofline, HasThePeakOfInt8WhereItWasMeasured) {
  Machine machine;
  machine.topology.usable = {0};
  machine.ceilings.peaks = {{"fp32", "AVX2 FMA", 1, 50}, {"int8", "AVX2", 1, 90}};
  machine.ceilings.bandwidths = {{"DRAM", "read", 1, 0, 10}};
  EXPECT_EQ(roofline_of(machine, 1)->int8_peak_gflops, 90);
  machine.ceilings.peaks.pop_back();
  EXPECT_FALSE(roofline_of(machine, 1)->int8_peak_gflops);
}

}  // namespace
}  // namespace assay
