#include "assay/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "assay/error.h"
#include "stats/random.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using Processes = std::vector<ProcessSamples>;

// Not taken in turns.
Processes processes(const std::vector<std::vector<double>>& samples) {
  Processes all;
  for (const auto& values : samples) all.push_back({values});
  return all;
}

struct Protocol {
  double bias_deviation = 0.004;
  double pair_seconds = 2.0;  // two processes of 1 s
  double disturbed_share = 0;
};

// One process: a bias of its own, the machine's phases, which the turns next to its own share, and
// noise within.
ProcessSamples simulate_process(Random& random, double centre, const std::vector<double>& phases) {
  ProcessSamples process;
  for (const double phase : phases) {
    for (int i = 0; i < 4; ++i) {
      process.values.push_back(centre * phase * std::exp(0.02 * random.normal()));
    }
    process.turn_ends.push_back(process.values.size());
  }
  return process;
}

std::vector<double> simulate_phases(Random& random) {
  std::vector<double> phases(10);
  for (double& phase : phases) phase = random.uniform() < 0.3 ? 1.5 : 1.0;
  return phases;
}

// Pairs of fresh processes until the sequential rule stops.
Comparison simulate_comparison(double true_ratio, const Protocol& protocol, std::uint64_t seed) {
  Random random(seed);
  Processes a;
  Processes b;
  Comparison comparison;
  PairTimes times = {0, protocol.pair_seconds};
  const ComparisonOptions options{.max_seconds = 20};
  while (needs_another_pair(comparison, times, options)) {
    const auto phases = simulate_phases(random);
    const auto biased = [&](double centre) {
      return centre * std::exp(protocol.bias_deviation * random.normal());
    };
    const bool disturbed = random.uniform() < protocol.disturbed_share;
    a.push_back(simulate_process(random, biased(10), phases));
    b.push_back(
        simulate_process(random, biased(10 * true_ratio * (disturbed ? 1.1 : 1.0)), phases));
    comparison = compare_samples(a, b, options);
    times.elapsed_seconds += protocol.pair_seconds;
  }
  EXPECT_LE(times.elapsed_seconds, options.max_seconds);
  return comparison;
}

struct Verdicts {
  double faster = 0;
  double slower = 0;
  double same = 0;
  double covered = 0;
  double mean_pairs = 0;
};

Verdicts tally(double true_ratio, const Protocol& protocol) {
  constexpr int kComparisons = 1000;
  Verdicts share;
  for (int i = 0; i < kComparisons; ++i) {
    const auto result = simulate_comparison(true_ratio, protocol, static_cast<std::uint64_t>(i));
    share.faster += result.verdict == ComparisonVerdict::Faster ? 1.0 / kComparisons : 0;
    share.slower += result.verdict == ComparisonVerdict::Slower ? 1.0 / kComparisons : 0;
    share.same += result.verdict == ComparisonVerdict::Same ? 1.0 / kComparisons : 0;
    const bool covered = result.ci95_low <= true_ratio && true_ratio <= result.ci95_high;
    share.covered += covered ? 1.0 / kComparisons : 0;
    share.mean_pairs += static_cast<double>(result.pairs) / kComparisons;
  }
  return share;
}

TEST(Comparison, OfAWithItselfIsTheSame) {
  for (const double bias : {0.004, 0.006, 0.008}) {
    for (const double pair_seconds : {1.0, 2.0}) {
      const auto share = tally(1.0, {bias, pair_seconds});
      EXPECT_GE(share.same, 0.95) << "bias " << bias << ", " << pair_seconds << " s a pair";
      EXPECT_LE(share.faster + share.slower, 0.005);
      EXPECT_GE(share.covered, 0.93);
    }
  }
}

TEST(Comparison, FindsAThreePercentSlowdown) {
  for (const double bias : {0.004, 0.006, 0.008}) {
    for (const double pair_seconds : {1.0, 2.0}) {
      const auto share = tally(1.03, {bias, pair_seconds});
      EXPECT_GE(share.slower, 0.90) << "bias " << bias << ", " << pair_seconds << " s a pair";
      EXPECT_LE(share.same + share.faster, 0.01);
    }
  }
}

TEST(Comparison, FindsAThreePercentSpeedup) {
  EXPECT_GE(tally(1 / 1.03, {0.006, 2.0}).faster, 0.90);
}

TEST(Comparison, IsNotFooledByADisturbedPair) {
  // One process in 20 is disturbed by 10 %.
  EXPECT_GE(tally(1.0, {0.004, 1.0, 0.05}).same, 0.95);
  EXPECT_GE(tally(1.03, {0.004, 1.0, 0.05}).slower, 0.90);
}

TEST(Comparison, AccountsForTheDifferenceBetweenProcesses) {
  // Each process agrees with itself to the last digit; the processes differ by up to 2 %.
  const auto a = processes(
      {{10.0, 10.0}, {10.19, 10.19}, {10.0, 10.0}, {10.1, 10.1}, {10.19, 10.19}, {10.0, 10.0}});
  const auto b = processes(
      {{10.19, 10.19}, {10.0, 10.0}, {10.1, 10.1}, {10.0, 10.0}, {10.1, 10.1}, {10.19, 10.19}});
  const auto comparison = compare_samples(a, b);
  EXPECT_LT(comparison.ci95_low, 0.985);
  EXPECT_GT(comparison.ci95_high, 1.015);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::Same);  // holds 1, within ±2 %
}

TEST(Comparison, PairsTurnByTurn) {
  // The machine takes up to twice as long in phases that cover both; B takes 2 % longer.
  const std::vector<double> phases = {1.0, 1.9, 1.1, 1.0, 2.0};
  ProcessSamples a;
  ProcessSamples b;
  for (const double phase : phases) {
    for (const double first_is_cold : {1.3, 1.0, 1.0}) {
      a.values.push_back(10 * phase * first_is_cold);
      b.values.push_back(10.2 * phase * first_is_cold);
    }
    a.turn_ends.push_back(a.values.size());
    b.turn_ends.push_back(b.values.size());
  }
  b.values.insert(b.values.end(), 20, 99.0);  // after the last whole turn
  EXPECT_NEAR(compare_samples(Processes{a}, Processes{b}).ratio, 1.02, 1e-12);
  b.values[1] *= 1.5;  // one turn alone is disturbed
  b.values[2] *= 1.5;
  EXPECT_NEAR(compare_samples(Processes{a}, Processes{b}).ratio, 1.02, 1e-12);
}

TEST(Comparison, RefusesTurnsWithoutSamples) {
  const auto a = processes({{1, 1, 1}});
  EXPECT_THROW(compare_samples(a, Processes{{{1, 1}, {0, 1}}}), Error);
  EXPECT_THROW(compare_samples(a, Processes{{{1, 1}, {1, 1}}}), Error);
  EXPECT_THROW(compare_samples(a, Processes{{{1, 1}, {1, 3}}}), Error);
}

TEST(Comparison, SignedRankIntervalOfSixPairsIsTheWholeRange) {
  Processes a;
  Processes b;
  for (const double ratio : {1.10, 1.12, 1.14, 1.16, 1.18, 1.20}) {
    a.push_back({{10}});
    b.push_back({{10 * ratio}});
  }
  const auto comparison = compare_samples(a, b);
  EXPECT_DOUBLE_EQ(comparison.ci95_low, 1.10);
  EXPECT_DOUBLE_EQ(comparison.ci95_high, 1.20);
  EXPECT_NEAR(comparison.ratio, 1.15, 0.001);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::Slower);
  EXPECT_EQ(comparison.median_a, 10);
  EXPECT_THAT(comparison.explanation, HasSubstr("+10.00 % to +20.00 %) over 6 pairs"));
}

TEST(Comparison, OfSinglePairsAssumesThatProcessesDiffer) {
  // 1.96 * sqrt(2) * 0.8 % = 2.2 % either way.
  EXPECT_NEAR(compare_samples(processes({{10}}), processes({{10}})).ci95_high, 1.0224, 0.0002);
  const auto verdict = [](double b) {
    return compare_samples(processes({{10}}), processes({{b}})).verdict;
  };
  EXPECT_EQ(verdict(10.0), ComparisonVerdict::Undecided);
  EXPECT_EQ(verdict(10.2), ComparisonVerdict::Undecided);
  EXPECT_EQ(verdict(10.5), ComparisonVerdict::Slower);
  EXPECT_EQ(verdict(9.5), ComparisonVerdict::Faster);
}

TEST(Comparison, OfStoredSamplesIsTheRatioOfTheirMedians) {
  const std::vector<double> a = {1.0, 1.0, 1.0, 1.01, 1.01, 1.02, 1.3, 1.4};
  const std::vector<double> b = {0.90, 0.90, 0.90, 0.91, 0.91, 0.92, 0.95, 2.0};
  ComparisonOptions options;
  options.assumed_process_deviation = 0.05;
  const Comparison careful = compare_stored(a, b, options);
  EXPECT_DOUBLE_EQ(careful.median_a, 1.01);
  EXPECT_DOUBLE_EQ(careful.median_b, 0.91);
  EXPECT_DOUBLE_EQ(careful.ratio, 0.91 / 1.01);
  // 1.96 * sqrt(2) * 5 % are 14 %: 10 % may be the difference between two processes.
  EXPECT_EQ(careful.verdict, ComparisonVerdict::Undecided);
  EXPECT_GT(careful.ci95_high, careful.ratio * std::exp(0.1385));
  const std::vector<double> steady_a(100, 1.0);
  const std::vector<double> steady_b(100, 0.9);
  options.assumed_process_deviation = 0.01;
  EXPECT_EQ(compare_stored(steady_a, steady_b, options).verdict, ComparisonVerdict::Faster);
}

TEST(Comparison, OfStoredSamplesAllowsForWhatSlowedMostRuns) {
  // Another program ran beside most of A, whose fastest runs are those of B.
  std::vector<double> disturbed(80, 1.3);
  disturbed.resize(100, 1.0);
  const std::vector<double> quiet(100, 1.0);
  ComparisonOptions options;
  options.assumed_process_deviation = 0.01;
  EXPECT_EQ(compare_stored(disturbed, quiet, options).verdict, ComparisonVerdict::Undecided);
  EXPECT_EQ(compare_stored(quiet, disturbed, options).verdict, ComparisonVerdict::Undecided);
}

TEST(Comparison, OfFewStoredSamplesIsUndecided) {
  const auto verdict = [](std::size_t count) {
    return compare_stored(std::vector<double>(count, 1.0), std::vector<double>(count, 2.0), {})
        .verdict;
  };
  EXPECT_EQ(verdict(5), ComparisonVerdict::Undecided);
  EXPECT_EQ(verdict(6), ComparisonVerdict::Slower);
}

TEST(Comparison, IntervalOfTheMedianIncludesTheDifferenceBetweenProcesses) {
  // One process: 1.96 * 0.8 % either way. Six: the whole range of their medians.
  const auto one = compare_samples(processes({{10, 10}}), processes({{10, 10}}));
  EXPECT_NEAR(one.median_b_ci95.high, 10 * std::exp(1.96 * 0.008), 1e-9);
  const auto six = processes({{10.0}, {10.1}, {10.2}, {10.3}, {10.4}, {10.5}});
  const auto many = compare_samples(six, six);
  EXPECT_NEAR(many.median_b_ci95.low, 10.0, 1e-9);
  EXPECT_NEAR(many.median_b_ci95.high, 10.5, 1e-9);
}

TEST(Comparison, PairsAnyValueOfProcesses) {
  const std::vector<double> a = {1, 2, 4, 8, 16, 32};
  std::vector<double> b;
  for (const double value : a) b.push_back(1.1 * value);
  const auto ratio = paired_ratio(a, b);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->value, 1.1, 1e-12);
  EXPECT_NEAR(ratio->ci95.low, 1.1, 1e-12);
  EXPECT_FALSE(paired_ratio(std::span(a).first(5), std::span(b).first(5))) << "fewer than six";
  b[0] = 0;
  EXPECT_FALSE(paired_ratio(a, b));
}

TEST(Comparison, RunsAnotherPairOnlyWhileUndecidedAndThereIsTime) {
  Comparison so_far;
  EXPECT_TRUE(needs_another_pair(so_far, {}));
  so_far.pairs = 5;
  so_far.verdict = ComparisonVerdict::Slower;
  EXPECT_TRUE(needs_another_pair(so_far, {5, 1})) << "fewer than six pairs";
  so_far.pairs = 6;
  EXPECT_FALSE(needs_another_pair(so_far, {6, 1}));
  so_far.verdict = ComparisonVerdict::Undecided;
  EXPECT_TRUE(needs_another_pair(so_far, {6, 1}));
  EXPECT_FALSE(needs_another_pair(so_far, {58, 3})) << "a seventh pair would end at 61 s of 60";
  so_far.pairs = 40;
  EXPECT_FALSE(needs_another_pair(so_far, {6, 1})) << "40 pairs are the most";
}

TEST(Comparison, RefusesWhatCannotBeCompared) {
  EXPECT_THROW(compare_samples(Processes{}, Processes{}), Error);
  EXPECT_THROW(compare_samples(processes({{1}}), processes({{1}, {2}})), Error);
  EXPECT_THROW(compare_samples(processes({{0}}), processes({{1}})), Error);
  EXPECT_THROW(compare_samples(processes({{1}}), processes({{}})), Error);
  EXPECT_THROW(compare_samples(processes({{1}}), processes({{1}}), {.threshold = 0}), Error);
}

}  // namespace
}  // namespace assay
