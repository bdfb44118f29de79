#include "assay/study.h"

#include <gmock/gmock.h>

#include "assay/error.h"
#include "assay/precision.h"
#include "assay/zoo.h"
#include "profile/studies/rounds.h"
#include "profile/tiny_decoder.h"
#include "timing/simulation.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeMachine;
using ::testing::HasSubstr;

// A machine of round figures: nothing is measured but the models.
Machine round_machine() {
  Machine machine;
  machine.topology.processor = "round";
  machine.topology.caches = {{1, 32 << 10, 1}, {2, 1 << 20, 1}};
  for (const int threads : {1, 2}) {
    machine.ceilings.peaks.push_back({"fp32", "AVX2 FMA", threads, 1e6});
    for (const char* level : {"L1", "L2", "DRAM"}) {
      for (const char* access : {"read", "write"}) {
        machine.ceilings.bandwidths.push_back({level, access, threads, 1024, 1e5});
      }
    }
  }
  return machine;
}

StudyOptions quick() {
  StudyOptions options{.warmup = 1, .runs = 2, .rounds = 1, .machine = round_machine()};
  options.program.cpu.threads = 1;
  return options;
}

// --- other load

TEST(LoadOfOthers, IsAWarningOnce) {
  // Of 10 s of two processors, 2 s went to this process and 12 s to others.
  FakeMachine busy({{}, {.busy_seconds = 14, .idle_seconds = 6, .own_seconds = 2}});
  const profile::LoadSince load(busy);
  std::vector<std::string> warnings;
  load.add_to(warnings);
  load.add_to(warnings);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("competing-load: other programs used 60 %")));
}

TEST(LoadOfOthers, IsNotMentionedWhereThereWasNone) {
  FakeMachine idle({{}, {.busy_seconds = 2, .idle_seconds = 18, .own_seconds = 2}});
  const profile::LoadSince load(idle);
  std::vector<std::string> warnings;
  load.add_to(warnings);
  EXPECT_TRUE(warnings.empty());
}

// --- exponents

TEST(FittedExponent, IsThePowerOfValuesThatFollowOne) {
  const std::vector<double> sizes = {64, 128, 256, 512};
  std::vector<double> squares;
  for (const double size : sizes) squares.push_back(3 * size * size);
  EXPECT_NEAR(fitted_exponent(sizes, squares).value(), 2, 1e-12);
  EXPECT_NEAR(fitted_exponent(sizes, std::vector<double>(4, 7.0)).value(), 0, 1e-12);
}

TEST(FittedExponent, IsTheLeastSquaresOne) {
  // log2: (0, 0), (1, 2), (2, 2): slope = Σ(x-1)(y-4/3) / Σ(x-1)² = (4/3 + 2/3) / 2 = 1.
  const std::vector<double> sizes = {1, 2, 4};
  EXPECT_NEAR(fitted_exponent(sizes, std::vector<double>{1, 4, 4}).value(), 1, 1e-12);
}

TEST(FittedExponent, NeedsTwoSizesAndPositiveValues) {
  EXPECT_FALSE(fitted_exponent(std::vector<double>{8}, std::vector<double>{1}));
  EXPECT_FALSE(fitted_exponent(std::vector<double>{8, 8}, std::vector<double>{1, 2}));
  EXPECT_FALSE(fitted_exponent(std::vector<double>{8, 16}, std::vector<double>{0, 2}));
}

// --- growth

TEST(ModelScaling, CountsEveryWidthAndFitsTheExponents) {
  const ModelScaling study =
      analyze_model_scaling({.measuring = quick(), .values = {16, 32, 64}, .batch = 4});
  ASSERT_EQ(study.rows.size(), 3u);
  EXPECT_EQ(study.batch, 4);
  for (const ScalingRow& row : study.rows) {
    EXPECT_EQ(row.parameters, row.size * row.size + row.size);
    EXPECT_EQ(row.flops, 4 * (2 * row.size * row.size + row.size));
    EXPECT_GT(row.latency_ms, 0);
    EXPECT_GT(row.memory_mb, 0);
    EXPECT_FALSE(row.fits_in.empty());
    EXPECT_NEAR(row.gflops_per_second, static_cast<double>(row.flops) / row.latency_ms * 1e-6,
                1e-6 * row.gflops_per_second);
  }
  EXPECT_NEAR(study.growth_factors.parameters.value(), 64.0 * 65 / (16 * 17), 1e-9);
  EXPECT_NEAR(study.exponents.flops.value(), 2, 0.05);
  EXPECT_EQ(study.model->name, "zoo:dense");
}

TEST(ModelScaling, VariesAnyParameterOfTheZoo) {
  const ModelScaling study = analyze_model_scaling({.measuring = quick(),
                                                    .model = "dense:width=32",
                                                    .parameter = "layers",
                                                    .values = {1, 2},
                                                    .batch = {}});
  EXPECT_EQ(study.rows[1].parameters, 2 * study.rows[0].parameters);
  EXPECT_EQ(study.batch, 1);
}

TEST(ModelScaling, RefusesWhatCannotGrow) {
  EXPECT_THROW(analyze_model_scaling({.values = {64}}), Error);
  EXPECT_THROW(analyze_model_scaling({.values = {64, 32}}), Error);
  EXPECT_THROW(analyze_model_scaling({.parameter = "hight"}), Error);
}

TEST(ModelScaling, TellsWhereTheWorkingSetLeavesACache) {
  const ModelScaling study =
      analyze_model_scaling({.measuring = quick(), .values = {64, 256}, .batch = 1});
  ASSERT_FALSE(study.caches.empty());
  EXPECT_EQ(study.caches[0].level, "L1");
  EXPECT_EQ(study.rows[0].fits_in, "L1");  // 64² · 4 bytes = 16 KiB
  EXPECT_EQ(study.rows[1].fits_in, "L2");  // 256² · 4 bytes = 256 KiB
  EXPECT_EQ(study.caches[0].leaves_at, 256);
}

ModelScaling made_up_scaling() {
  ModelScaling study;
  study.parameter = "width";
  study.rows = {{.size = 64, .fits_in = "L1", .bound = Bound::Overhead},
                {.size = 128, .fits_in = "L2", .bound = Bound::Memory},
                {.size = 256, .fits_in = "L2", .bound = Bound::Memory}};
  study.growth_factors = {16, 16, 8, 15, 2};
  study.exponents = {2, 2, 1.5, 1.95, 0.5};
  study.caches = {{"L1", 32 << 10, 128}, {"L2", 1 << 20, {}}};
  study.work_on = "Work on bytes.";
  return study;
}

TEST(ModelScaling, SaysItInFigures) {
  EXPECT_THAT(
      scaling_verdict(made_up_scaling()),
      ElementsAre("From width=64 to width=256: parameters ×16, FLOPs ×16, latency ×8, memory "
                  "×15, GFLOP/s ×2.",
                  "Latency ~ width^1.50, FLOPs ~ width^2.00: larger sizes use the machine "
                  "better.",
                  "The working set leaves L1 (32.0 KiB) at width=128.",
                  "What limits it: Overhead from width=64, Memory traffic from width=128.",
                  "Work on bytes."));
}

TEST(ModelScaling, CachesThatAreTooSmallForEverySizeAreNamedOnce) {
  ModelScaling study = made_up_scaling();
  study.caches = {{"L1", 32 << 10, 64}, {"L2", 1 << 20, 64}, {"L3", 32 << 20, 256}};
  EXPECT_EQ(
      scaling_verdict(study)[2],
      "The working set of every size is larger than L1 (32.0 KiB) and L2 (1.00 MiB). It leaves "
      "L3 (32.0 MiB) at width=256.");
}

// --- batches

BatchRow made_up_batch(std::int64_t batch, double samples_per_second, double memory_mb,
                       bool within_budget = true) {
  return {batch, 1, samples_per_second, memory_mb, samples_per_second / memory_mb, within_budget};
}

TEST(SweetSpot, IsTheSmallestBatchNearTheBest) {
  const std::vector<BatchRow> rows = {made_up_batch(1, 100, 1), made_up_batch(8, 980, 2),
                                      made_up_batch(32, 1000, 4), made_up_batch(128, 990, 16)};
  EXPECT_EQ(find_sweet_spot(rows), 1u);
}

TEST(SweetSpot, IsTheBestIfNothingSmallerComesNear) {
  const std::vector<BatchRow> rows = {made_up_batch(1, 100, 1), made_up_batch(8, 960, 2),
                                      made_up_batch(32, 1000, 4)};
  EXPECT_EQ(find_sweet_spot(rows), 2u);
}

TEST(SweetSpot, StaysWithinTheBudget) {
  const std::vector<BatchRow> rows = {made_up_batch(1, 100, 1), made_up_batch(8, 700, 2),
                                      made_up_batch(32, 1000, 4, false)};
  EXPECT_EQ(find_sweet_spot(rows), 1u);
  const std::vector<BatchRow> none = {made_up_batch(1, 100, 1, false)};
  EXPECT_FALSE(find_sweet_spot(none));
}

TEST(BatchSizeEffects, MeasuresEveryBatchOfAnyModel) {
  const BatchSizeEffects study = analyze_batch_size_effects(
      zoo_model("mlp"), "zoo:mlp", {.measuring = quick(), .batches = {1, 4}});
  ASSERT_EQ(study.rows.size(), 2u);
  EXPECT_EQ(study.rows[1].batch_size, 4);
  EXPECT_NEAR(study.rows[1].samples_per_second * study.rows[1].latency_ms, 4000, 1e-6 * 4000);
  EXPECT_GT(study.rows[1].memory_mb, study.rows[0].memory_mb);
  EXPECT_TRUE(study.sweet_spot);
}

TEST(BatchSizeEffects, ComparesTheSweetSpotWithTheFirstBatch) {
  BatchSizeEffects study;
  study.rows = {{1, 2, 500, 10, 50, true}, {8, 4, 2000, 15, 133, true}};
  study.sweet_spot = study.best_batch = study.most_per_mb = 8;
  EXPECT_THAT(batch_verdict(study),
              Contains("Compared with batch 1, it has 4 times the throughput, 2 times the "
                       "latency and 1.5 times the memory."));
}

TEST(BatchSizeEffects, SaysThatNoBatchFits) {
  const BatchSizeEffects study =
      analyze_batch_size_effects({.measuring = quick(), .batches = {1, 2}, .max_mb = 0.001});
  EXPECT_FALSE(study.sweet_spot);
  EXPECT_THAT(study.verdict.at(0), HasSubstr("No batch stays within 0.001 MB"));
}

// --- operations

TEST(OperationEfficiency, MeasuresFiveOperationsAndOrdersThem) {
  const OperationEfficiency study =
      benchmark_operation_efficiency({.measuring = quick(), .sizes = {16, 32}});
  ASSERT_EQ(study.rows.size(), 10u);
  EXPECT_EQ(study.rows[0].operation, "element-wise");
  EXPECT_EQ(study.rows[1].flops, 32 * 32);
  EXPECT_EQ(study.rows[5].flops, 2 * 32 * 32 * 32);  // matmul
  EXPECT_EQ(study.order.size(), 5u);
  EXPECT_EQ(study.priority.size(), 5u);
  EXPECT_EQ(study.most_efficient, study.order.front());
  EXPECT_EQ(study.least_efficient, study.order.back());
}

TEST(OperationEfficiency, RefusesSizesThatAnOperationCannotHave) {
  EXPECT_THROW(benchmark_operation_efficiency({.sizes = {4}}), Error);
  EXPECT_THROW(benchmark_operation_efficiency({.sizes = {}}), Error);
}

TEST(OperationEfficiency, FocusFollowsFromBoundCeilingAndThreads) {
  EXPECT_EQ(efficiency_class({Bound::Memory, 90, 0.9}), "memory_bound");
  EXPECT_EQ(efficiency_class({Bound::Compute, 90, 0.9}), "compute_bound");
  EXPECT_EQ(efficiency_class({Bound::Overhead, 5, 0.4}), "overhead_bound");
  EXPECT_EQ(optimization_focus({Bound::Memory, 90, 0.5}), "data_locality");
  EXPECT_EQ(optimization_focus({Bound::Compute, 90, 0.9}), "algorithms");
  EXPECT_EQ(optimization_focus({Bound::Compute, 30, 0.9}), "algorithms");
  EXPECT_EQ(optimization_focus({Bound::Compute, 30, 0.5}), "parallelization");
  EXPECT_EQ(optimization_focus({Bound::Overhead, 5, 0.9}), "parallelization");
}

// --- overhead

TEST(ProfilingOverhead, ClassesAreThoseOfTheFactor) {
  EXPECT_EQ(overhead_class(1.0), "low");
  EXPECT_EQ(overhead_class(1.99), "low");
  EXPECT_EQ(overhead_class(2.0), "moderate");
  EXPECT_EQ(overhead_class(9.99), "moderate");
  EXPECT_EQ(overhead_class(10.0), "high");
}

TEST(ProfilingOverhead, MeasuresEveryModeAgainstTheBareRun) {
  const ProfilingOverhead study = analyze_profiling_overhead(quick());
  ASSERT_GE(study.rows.size(), 4u);
  EXPECT_EQ(study.rows[0].mode, "bare");
  EXPECT_EQ(study.rows[0].overhead_factor, 1);
  EXPECT_EQ(study.rows[1].mode, "timing");
  EXPECT_EQ(study.rows[2].mode, "layers");
  EXPECT_EQ(study.rows[3].mode, "trace");
  EXPECT_EQ(study.overhead_factor, study.rows[2].overhead_factor);
  for (const OverheadRow& row : study.rows) {
    EXPECT_GT(row.latency_ms, 0);
    EXPECT_EQ(row.overhead_class, overhead_class(row.overhead_factor));
  }
}

// --- decoding

TEST(Decoding, CountsWhatIsComputedAgain) {
  DecodingOptions options{.measuring = quick(), .tokens = 8, .prompt = {3, 1, 4, 15, 9}};
  const DecodingComparison study =
      analyze_decoding(plain_decoder(), cached_decoder(), "tiny", options);
  ASSERT_EQ(study.rows.size(), 2u);
  EXPECT_TRUE(study.same_tokens);
  // Keys and values of two layers: 2 · 2 · width floats.
  EXPECT_EQ(study.memory_per_token_kb * 1024, 2 * 2 * kModelWidth * 4);
  // Two layers of four projections, attention over 8 of the tokens, and the output layer.
  const std::int64_t projections = 2 * 4 * kModelWidth * kModelWidth;
  const std::int64_t head = kModelWidth * kModelVocabulary;
  const std::int64_t past = (5 + 11) / 2;
  EXPECT_EQ(study.rows[1].macs_per_token, projections + head + 2 * 2 * (past + 1) * kModelWidth);
  EXPECT_EQ(study.rows[0].macs_per_token,
            12 * (projections + head) + 2 * 2 * 12 * 12 * kModelWidth);
  EXPECT_EQ(study.recomputed_macs, study.rows[0].macs_per_token - study.rows[1].macs_per_token);
  EXPECT_EQ(study.rows[0].tokens_ms.size(), 7u);
  EXPECT_NEAR(study.rows[0].attention_share_macs.value(),
              static_cast<double>(2 * 2 * 12 * 12 * kModelWidth) /
                  static_cast<double>(study.rows[0].macs_per_token),
              1e-12);
}

TEST(Decoding, NeedsAModelWithoutAndOneWithPast) {
  DecodingOptions options{.measuring = quick(), .tokens = 4};
  EXPECT_THROW(analyze_decoding(cached_decoder(), cached_decoder(), "", options), Error);
  EXPECT_THROW(analyze_decoding(plain_decoder(), plain_decoder(), "", options), Error);
  options.tokens = 1;
  EXPECT_THROW(analyze_decoding(plain_decoder(), cached_decoder(), "", options), Error);
}

TEST(Decoding, VerdictStatesSpeedUpAndWhatExplainsIt) {
  DecodingComparison study;
  study.tokens = 64;
  study.prompt = 16;
  study.rows = {{.mode = "without cache", .tokens_per_second = 4, .macs_per_token = 10'000'000},
                {.mode = "with cache", .tokens_per_second = 40, .macs_per_token = 125'000}};
  study.recomputed_share = 0.9875;
  study.predicted_speedup_macs = 80;
  study.predicted_speedup = 9;
  study.measured_speedup = 10;
  study.bound_without = Bound::Compute;
  study.bound_with = Bound::Memory;
  study.same_tokens = true;
  study.rows[0].ceiling_share = 0.54;
  study.rows[1].ceiling_share = 0.6;
  const auto verdict = decoding_verdict(study);
  EXPECT_EQ(verdict[0],
            "With the cache, 64 tokens after a prompt of 16 come 10 times as fast: 40.0 instead of "
            "4.00 tokens/s.");
  EXPECT_THAT(verdict[1], HasSubstr("98.8 % of a token's 10.0 M MACs"));
  EXPECT_THAT(verdict[2], HasSubstr("predict a speed-up of 9. Without a cache arithmetic limits"));
  // 9 · 0.6 / 0.54 = 10
  EXPECT_THAT(verdict[2],
              HasSubstr("at 54 % of these ceilings without the cache, and at 60 % with"));
}

// --- precisions

TEST(Precisions, AreComparedWithTheFirst) {
  const Graph model = zoo_model("small_cnn");
  const PrecisionComparison study =
      analyze_precisions({{"fp32", model, DataType::Float32}, {"fp16", model, DataType::Float16}},
                         "zoo:small_cnn", quick());
  ASSERT_EQ(study.rows.size(), 2u);
  EXPECT_EQ(study.rows[0].speedup, 1);
  EXPECT_FALSE(study.rows[0].output_deviation);
  EXPECT_NEAR(study.rows[1].size_mb, study.rows[0].size_mb / 2, 0.001);
  EXPECT_GT(study.rows[1].output_deviation.value(), 0);
  EXPECT_LT(study.rows[1].output_deviation.value(), 0.01);
  EXPECT_EQ(study.smallest, "fp16");
  EXPECT_EQ(study.rows[1].compared_rows, 16);  // one of each input
}

TEST(Precisions, VerdictTellsHowManyRowsAgree) {
  PrecisionComparison study;
  study.rows = {{.precision = "fp32"}, {.precision = "int8"}};
  study.rows[1].output_deviation = 0.01;
  study.rows[1].output_agreement = 0.875;
  study.rows[1].compared_rows = 16;
  EXPECT_THAT(precision_verdict(study).back(), HasSubstr("the same in 88 % of 16 rows"));
}

// --- threads

TEST(ThreadScaling, EndsWhereMoreThreadsAddLittle) {
  const std::vector<ThreadRow> rows = {{1, 100}, {2, 52}, {4, 30}, {8, 29}, {16, 15}};
  EXPECT_EQ(scaling_ends_at(rows), 4);
  EXPECT_EQ(scaling_ends_at(std::span(rows).first(1)), 1);
}

TEST(ThreadScaling, VerdictNamesTheEnd) {
  ThreadScaling study;
  study.rows = {{1, 100, 10, 1, 1}, {2, 55, 18, 1.82, 0.91}, {4, 54, 18.5, 1.85, 0.46}};
  study.ends_at = 2;
  study.serial_share = 0.39;
  const auto verdict = threads_verdict(study);
  EXPECT_EQ(verdict[0], "2 threads are 1.82 times as fast as 1: 91 % efficiency per thread.");
  EXPECT_EQ(verdict[1], "Beyond 2 the speed-up ends: each further step adds less than 5 %.");
  EXPECT_THAT(verdict[2], HasSubstr("39 % of one thread's time"));
}

TEST(ThreadScaling, RunsOnEveryNumberOfThreads) {
  const ThreadScaling study = analyze_thread_scaling(zoo_model("mlp"), "zoo:mlp", {1, 2}, quick());
  ASSERT_EQ(study.rows.size(), 2u);
  EXPECT_EQ(study.rows[0].efficiency, 1);
  EXPECT_NEAR(study.rows[1].efficiency, study.rows[1].speedup / 2, 1e-12);
  EXPECT_THROW(analyze_thread_scaling(zoo_model("mlp"), "", {2, 1}, quick()), Error);
}

}  // namespace
}  // namespace assay
