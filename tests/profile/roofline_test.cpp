#include "assay/roofline.h"

#include <gtest/gtest.h>

#include "profile/judge.h"

namespace assay {

using namespace assay::profile;

namespace {

// Two cores with 1 kB of L1 each and 10 kB of L2 for both.
Machine two_cores() {
  Machine machine;
  machine.topology.processors = 2;
  machine.topology.usable = {0, 1};
  machine.topology.caches = {{1, 1000, 1}, {2, 10'000, 2}};
  machine.ceilings.peaks = {{"fp32", "plain", 1, 10},
                            {"fp32", "wide", 1, 50},
                            {"fp32", "plain", 2, 20},
                            {"fp32", "wide", 2, 90}};
  for (const int threads : {1, 2}) {
    const auto add = [&](const char* level, const char* access, double gbps) {
      machine.ceilings.bandwidths.push_back({level, access, threads, 0, gbps * threads});
    };
    add("L1", "read", 100);
    add("L1", "write", 50);
    add("L1", "copy", 120);
    add("L2", "read", 40);
    add("L2", "write", 20);
    add("DRAM", "read", 10);
    add("DRAM", "write", 4);
    add("DRAM", "write-nt", 8);
  }
  return machine;
}

TEST(Roofline, TakesTheBestInstructionSetAndTheBestAccessOfALevel) {
  const auto roofline = roofline_of(two_cores(), 1);
  ASSERT_TRUE(roofline);
  EXPECT_EQ(roofline->peak_gflops, 50);
  EXPECT_EQ(roofline->instruction_set, "wide");
  ASSERT_EQ(roofline->levels.size(), 3u);
  EXPECT_EQ(roofline->levels[0].combined_gbps, 120);
  EXPECT_EQ(roofline->levels[2].level, "DRAM");
  EXPECT_EQ(roofline->levels[2].write_gbps, 8);
  EXPECT_EQ(roofline->levels[2].combined_gbps, 10);
}

TEST(Roofline, OfMoreThreadsHasMoreOfThePrivateCaches) {
  const auto roofline = roofline_of(two_cores(), 2);
  EXPECT_EQ(roofline->peak_gflops, 90);
  EXPECT_EQ(roofline->levels[0].bytes, 2 * 1000);  // one L1 a core
  EXPECT_EQ(roofline->levels[1].bytes, 10'000);    // one L2 for both
}

TEST(Roofline, OfNThreadsIsAtMostNTimesThatOfOne) {
  Machine machine = two_cores();
  machine.topology.usable = {0, 1, 2, 3};
  for (Peak& peak : machine.ceilings.peaks) peak.threads = peak.threads == 2 ? 4 : 1;
  EXPECT_EQ(roofline_of(machine, 3)->peak_gflops, 90);  // of 4, less than 3 · 50
  machine.ceilings.peaks.back().gflops = 190;
  EXPECT_EQ(roofline_of(machine, 3)->peak_gflops, 150);
  machine.ceilings.peaks.back().gflops = 40;  // measured while something else ran
  EXPECT_EQ(roofline_of(machine, 4)->peak_gflops, 50);
}

TEST(Roofline, HasThePeakOfEveryMeasuredPrecision) {
  Machine machine = two_cores();
  machine.ceilings.peaks.push_back({"bf16", "wide", 1, 120});
  const auto roofline = roofline_of(machine, 1);
  EXPECT_EQ(peak_gflops(*roofline, "fp32"), 50);
  EXPECT_EQ(peak_gflops(*roofline, "bf16"), 120);
  EXPECT_FALSE(peak_gflops(*roofline, "fp64"));
}

// Vectors: 200, tiles: 3000.
Machine with_tiles() {
  Machine machine = two_cores();
  machine.ceilings.peaks.push_back({"int8", "AVX-512 VNNI", 1, 200});
  machine.ceilings.peaks.push_back({"int8", "AMX", 1, 3000});
  return machine;
}

TEST(Roofline, HasAPeakOfTilesAndOneOfVectors) {
  const auto roofline = roofline_of(with_tiles(), 1);
  EXPECT_EQ(peak_gflops(*roofline, "int8"), 3000);
  EXPECT_EQ(peak_gflops(*roofline, "int8", ""), 3000);
  EXPECT_EQ(peak_gflops(*roofline, "int8", "amx"), 3000);
  EXPECT_EQ(peak_gflops(*roofline, "int8", "avx512_vnni"), 200);
  EXPECT_EQ(peak_gflops(*roofline, "fp32", "avx512"), 50);
  EXPECT_EQ(roofline->instruction_sets.at("int8"), "AMX");
  EXPECT_EQ(roofline->instruction_set, "wide");  // of fp32
  const double by_tiles =
      least_time({.flops = 3e6, .precision = "int8", .isa = "amx"}, *roofline).compute_ms;
  const double by_vectors =
      least_time({.flops = 3e6, .precision = "int8", .isa = "avx512_vnni"}, *roofline).compute_ms;
  EXPECT_DOUBLE_EQ(by_tiles, 0.001);
  EXPECT_DOUBLE_EQ(by_vectors, 0.015);
}

TEST(Roofline, ArithmeticOfAnUnknownPeakIsBoundByItsBytesAlone) {
  const auto roofline = roofline_of(two_cores(), 1);
  EXPECT_GT(least_time({.flops = 1e6, .precision = "fp32"}, *roofline).compute_ms, 0);
  EXPECT_EQ(least_time({.flops = 1e6, .precision = "fp64"}, *roofline).compute_ms, 0);
}

TEST(Roofline, IsMissingWithoutAPeakOrAMemoryBandwidth) {
  EXPECT_FALSE(roofline_of(two_cores(), 1, "bf16"));
  Machine machine = two_cores();
  machine.ceilings.bandwidths.clear();
  EXPECT_FALSE(roofline_of(machine, 1));
}

TEST(LeastTime, OfArithmeticIsFlopsOverThePeak) {
  const LeastTime least =
      least_time({.flops = 50e6, .read_bytes = 100}, *roofline_of(two_cores(), 1));
  EXPECT_DOUBLE_EQ(least.compute_ms, 1.0);
  EXPECT_EQ(least.bound(), Bound::Compute);
  EXPECT_DOUBLE_EQ(least.limit_ms(), 1.0);
}

TEST(LeastTime, OfOperandsThatFitIntoTheNearestCacheIsThatCaches) {
  const LeastTime least = least_time({.read_bytes = 800}, *roofline_of(two_cores(), 1));
  EXPECT_EQ(least.level, "L1");
  EXPECT_DOUBLE_EQ(least.memory_ms, 800 / 100e6);
}

TEST(LeastTime, OfWeightsCountsWhatACacheCannotKeepUntilTheNextRun) {
  // A run touches 40 kB: a quarter of it may stay in the 10 kB of L2, the rest comes from memory.
  const StepWork work{.weight_bytes = 8000, .run_bytes = 40'000};
  const LeastTime least = least_time(work, *roofline_of(two_cores(), 1));
  EXPECT_EQ(least.level, "DRAM");
  EXPECT_DOUBLE_EQ(least.memory_ms, 8000 * 0.75 / 10e6);
}

TEST(LeastTime, OfReadingAndWritingIsTheLongestOfEachAndBoth) {
  const Roofline roofline{.peak_gflops = 1, .levels = {{"DRAM", 0, 10, 4, 12}}};
  EXPECT_DOUBLE_EQ(least_time({.read_bytes = 10e6, .written_bytes = 1e6}, roofline).memory_ms, 1.0);
  EXPECT_DOUBLE_EQ(least_time({.read_bytes = 1e6, .written_bytes = 8e6}, roofline).memory_ms, 2.0);
  EXPECT_DOUBLE_EQ(least_time({.read_bytes = 9e6, .written_bytes = 3e6}, roofline).memory_ms, 1.0);
}

ProfileStep step(double time_ms, std::int64_t flops, std::int64_t weights, std::int64_t reads) {
  ProfileStep made;
  made.time_ms = time_ms;
  made.info.executed_flops = flops;
  made.info.weight_bytes = weights;
  made.info.bytes_read = weights + reads;
  return made;
}

Profile profile_of(std::vector<ProfileStep> steps) {
  Profile profile;
  profile.memory.peak_bytes = 1'000'000;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ProfileLayer layer;
    layer.time_ms = steps[i].time_ms;
    layer.steps = {i};
    profile.layers.push_back(layer);
    profile.latency.latency.median_ms += steps[i].time_ms;
  }
  profile.steps = std::move(steps);
  return profile;
}

const Roofline kSlopes{.peak_gflops = 100,
                       .levels = {{"L1", 1000, 50, 50, 50}, {"DRAM", 0, 10, 10, 10}},
                       .step_overhead_ms = 0.001};

TEST(Judge, NamesTheSlowestResourceAndThePotentialSaving) {
  // 50 MFLOP at 100 GFLOP/s are 0.5 ms, of the 2 ms it took.
  Profile profile = profile_of({step(2, 50'000'000, 0, 100), step(4, 1000, 0, 20'000'000)});
  judge(profile, kSlopes);
  EXPECT_EQ(profile.steps[0].rates.bound, Bound::Compute);
  EXPECT_DOUBLE_EQ(*profile.steps[0].rates.percent_of_ceiling, 25);
  EXPECT_DOUBLE_EQ(*profile.steps[0].rates.headroom_ms, 1.5);
  EXPECT_EQ(profile.steps[1].rates.bound, Bound::Memory);
  EXPECT_EQ(profile.steps[1].rates.bound_level, "DRAM");
  EXPECT_EQ(profile.layers[1].rates.bound_level, "DRAM");
  EXPECT_NEAR(*profile.layers[1].rates.percent_of_ceiling, 50, 0.01);
  EXPECT_EQ(profile.bottleneck, Bound::Memory);
  EXPECT_NEAR(*profile.headroom_ms, 1.5 + 2, 0.001);
}

// A library that does not say how it computes leaves the instructions of its step empty.
TEST(Judge, ClaimsNoShareOfACeilingForArithmeticThatIsNotKnown) {
  Roofline roofline = kSlopes;
  roofline.device = "cuda";
  // 50 MFLOP at 100 GFLOP/s are 0.5 ms: what took 0.25 ms executed less.
  Profile profile = profile_of(
      {step(0.25, 50'000'000, 0, 100), step(1, 50'000'000, 0, 100), step(1, 0, 0, 1000)});
  for (ProfileStep& one : profile.steps) one.info.device = "cuda";
  for (ProfileStep& one : profile.steps) one.rates.executed_gflops_per_second = 1;
  judge(profile, roofline);
  EXPECT_EQ(profile.steps[0].rates.percent_of_ceiling, std::nullopt);
  EXPECT_EQ(profile.steps[0].rates.bound, std::nullopt);
  EXPECT_EQ(profile.steps[0].rates.executed_gflops_per_second, std::nullopt);
  EXPECT_EQ(profile.layers[0].rates.executed_gflops_per_second, std::nullopt);
  EXPECT_NEAR(*profile.steps[1].rates.percent_of_ceiling, 50, 0.01);
  EXPECT_EQ(profile.steps[2].rates.percent_of_ceiling, std::nullopt);
  EXPECT_EQ(profile::furthest_above_ceiling(profile), 0.5);
  profile.steps[0].info.isa = "cuda";
  judge(profile, roofline);
  EXPECT_NEAR(*profile.steps[0].rates.percent_of_ceiling, 200, 0.01);
}

TEST(Judge, CallsAStepOverheadWhereStartingItTakesHalfItsTime) {
  Profile profile = profile_of({step(0.002, 1000, 0, 100), step(0.0021, 1000, 0, 100)});
  judge(profile, kSlopes);
  EXPECT_EQ(profile.steps[0].rates.bound, Bound::Overhead);
  EXPECT_EQ(profile.steps[1].rates.bound, Bound::Compute);
}

TEST(Judge, ComparesEachStepWithThePeakOfItsInstructionSet) {
  Roofline roofline = kSlopes;
  roofline.int8_peak_gflops = 1000;
  roofline.vector_peaks_gflops["int8"] = 100;
  Profile profile = profile_of({step(1, 50'000'000, 0, 0), step(1, 50'000'000, 0, 0)});
  for (ProfileStep& one : profile.steps) one.info.precision = "int8";
  profile.steps[0].info.isa = "amx";
  profile.steps[1].info.isa = "avx512_vnni";
  judge(profile, roofline);
  EXPECT_NEAR(*profile.steps[0].rates.percent_of_ceiling, 5, 0.01);
  EXPECT_NEAR(*profile.steps[1].rates.percent_of_ceiling, 50, 0.01);
}

TEST(Judge, ComparesEachStepWithThePeakOfItsPrecision) {
  Roofline roofline = kSlopes;  // 100 GFLOP/s in fp32
  roofline.int8_peak_gflops = 400;
  Profile profile = profile_of({step(1, 50'000'000, 0, 0), step(1, 50'000'000, 0, 0)});
  profile.steps[1].info.precision = "int8";
  profile.executed_gflops_per_second = 50;
  judge(profile, roofline);
  EXPECT_NEAR(*profile.steps[0].rates.percent_of_ceiling, 50, 0.01);
  EXPECT_NEAR(*profile.steps[1].rates.percent_of_ceiling, 12.5, 0.01);
  // At their peaks the two would take 0.5 and 0.125 ms: 100 MFLOP in 0.625 ms are 160 GFLOP/s.
  EXPECT_NEAR(*profile.computational_efficiency, 50.0 / 160, 1e-9);
}

TEST(Judge, LeavesStepsOfAnotherDeviceOpen) {
  Profile profile = profile_of({step(1, 50'000'000, 0, 0)});
  profile.steps[0].info.device = "abacus";
  judge(profile, kSlopes);
  EXPECT_FALSE(profile.steps[0].rates.bound);
  EXPECT_FALSE(profile.bottleneck);
}

TEST(Judge, LeavesAStepWithoutWorkOpen) {
  Profile profile = profile_of({step(1, 0, 0, 0)});
  judge(profile, kSlopes);
  EXPECT_FALSE(profile.steps[0].rates.bound);
  EXPECT_FALSE(profile.layers[0].rates.percent_of_ceiling);
  EXPECT_FALSE(profile.bottleneck);
}

TEST(Judge, EfficiencyNeverPassesOne) {
  Profile profile = profile_of({step(1, 1000, 0, 0)});
  profile.executed_gflops_per_second = 50;
  judge(profile, kSlopes);
  EXPECT_DOUBLE_EQ(*profile.computational_efficiency, 0.5);
  profile.executed_gflops_per_second = 120;
  judge(profile, kSlopes);
  EXPECT_DOUBLE_EQ(*profile.computational_efficiency, 1.0);
}

TEST(Judge, ReportsStepsAboveTheirCeilingUnlessTheyAreTooShort) {
  Profile profile = profile_of({step(1, 120'000'000, 0, 0), step(0.01, 100'000'000, 0, 0)});
  judge(profile, kSlopes);
  EXPECT_DOUBLE_EQ(furthest_above_ceiling(profile), 1.2);
  EXPECT_DOUBLE_EQ(*profile.steps[0].rates.headroom_ms, 0);
}

}  // namespace
}  // namespace assay
