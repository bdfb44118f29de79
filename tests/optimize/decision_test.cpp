#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "assay/sweep_result.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// An accepted version that takes `latency_ms` and stores as many MB.
SweepRow version(double accuracy, double latency_ms) {
  SweepRow row{.accepted = true, .active_budget_mb = 2};
  row.metrics = PerfMetrics{.accuracy = accuracy,
                            .accuracy_ci95_low = accuracy - 0.01,
                            .accuracy_ci95_high = accuracy + 0.01,
                            .latency_ms = latency_ms,
                            .memory_mb = latency_ms,
                            .energy_proxy_j = 5 * latency_ms};
  return row;
}

SweepRow failed(const std::string& error) {
  return {.error = error};
}

SweepRow compared(double accuracy, double latency_ms, const LatencyRatio& ratio) {
  SweepRow row = version(accuracy, latency_ms);
  row.latency_vs_baseline = ratio;
  return row;
}

std::vector<std::size_t> by_latency(const std::vector<SweepRow>& rows) {
  return pareto_frontier(rows, ParetoCost::Latency, false);
}

// --- frontiers

TEST(ParetoFrontier, HasWhatIsMoreAccurateThanEverythingCheaper) {
  EXPECT_THAT(by_latency({version(0.9, 4), version(0.8, 2), version(0.7, 3), version(0.85, 3.5)}),
              ElementsAre(1, 3, 0));
}

TEST(ParetoFrontier, HasAllOfEqualVersionsAndNoneThatIsBeatenInOneFigure) {
  EXPECT_THAT(by_latency({version(0.9, 2), version(0.9, 2), version(0.9, 3), version(0.8, 2)}),
              ElementsAre(0, 1));
}

TEST(ParetoFrontier, OfASingleRowIsThatRowAndOfNoneNothing) {
  EXPECT_THAT(by_latency({version(0.1, 1)}), ElementsAre(0));
  EXPECT_THAT(by_latency({}), IsEmpty());
}

TEST(ParetoFrontier, LeavesOutWhatWasNotAcceptedFailedOrIsNotANumber) {
  SweepRow too_large = version(0.99, 0.1);
  too_large.accepted = false;
  EXPECT_THAT(by_latency({too_large, failed("no memory"), version(kNoNumber, 1),
                          version(0.9, kNoNumber), version(0.5, 3)}),
              ElementsAre(4));
}

TEST(ParetoFrontier, MayBeByTheLowerEndOfTheInterval) {
  SweepRow uncertain = version(0.91, 2);
  uncertain.metrics->accuracy_ci95_low = 0.8;
  const std::vector<SweepRow> rows = {version(0.9, 1), uncertain};
  EXPECT_THAT(pareto_frontier(rows, ParetoCost::Latency, false), ElementsAre(0, 1));
  EXPECT_THAT(pareto_frontier(rows, ParetoCost::Latency, true), ElementsAre(0));
}

TEST(ParetoFrontier, TakesMeasuredEnergyOnlyIfAllRowsHaveIt) {
  std::vector<SweepRow> rows = {version(0.9, 1), version(0.8, 2)};  // 5 and 10 J by proxy
  rows[1].metrics->energy_measured_j = 0.001;                       // a meter on one machine only
  EXPECT_THAT(pareto_frontier(rows, ParetoCost::Energy, false), ElementsAre(0));
  rows[0].metrics->energy_measured_j = 0.002;
  EXPECT_THAT(pareto_frontier(rows, ParetoCost::Energy, false), ElementsAre(1, 0));
  EXPECT_EQ(pareto_costs(rows, ParetoCost::Energy)[0], 0.002);
  rows.push_back(failed("no matter"));
  EXPECT_EQ(pareto_costs(rows, ParetoCost::Energy)[0], 0.002);
  EXPECT_EQ(pareto_costs(rows, ParetoCost::Energy)[2], std::nullopt);
}

TEST(ParetoFrontier, OfTenThousandRowsIsRising) {
  std::vector<SweepRow> rows;
  for (int i = 0; i < 10'000; ++i) {
    rows.push_back(version(0.5 + 0.4 * std::sin(i * 0.7), 1 + (i * 7919) % 1000));
  }
  const std::vector<std::size_t> frontier = by_latency(rows);
  ASSERT_GT(frontier.size(), 1u);
  for (std::size_t i = 1; i < frontier.size(); ++i) {
    const PerfMetrics& before = *rows[frontier[i - 1]].metrics;
    const PerfMetrics& after = *rows[frontier[i]].metrics;
    EXPECT_LT(before.accuracy, after.accuracy);
    EXPECT_LT(before.latency_ms, after.latency_ms);
  }
  EXPECT_EQ(decide(rows, {}).rejected.size(), rows.size() - 1);
}

// --- the decision

const RejectedRow& rejection_of(const SweepDecision& decision, std::size_t row) {
  for (const RejectedRow& one : decision.rejected) {
    if (one.row == row) return one;
  }
  throw std::out_of_range("not rejected");
}

TEST(Decide, TakesTheFastestThatLosesAtMostTheGivenPoints) {
  const SweepDecision decision =
      decide({version(0.9, 4), version(0.895, 3), version(0.88, 1), version(0.9, 5)}, {});
  EXPECT_EQ(decision.recommended, 1u);
  EXPECT_EQ(decision.runner_up, 0u);
  EXPECT_THAT(decision.reason, HasSubstr("89.50 % accuracy (0.50 points below the best)"));
  ASSERT_EQ(decision.rejected.size(), 3u);
  EXPECT_EQ(rejection_of(decision, 2).kind, Rejection::LessAccurate);
  EXPECT_EQ(rejection_of(decision, 3).kind, Rejection::Slower);
  EXPECT_EQ(rejection_of(decision, 0).reason,
            "takes 1.333 times as long as the recommended version");  // 4 / 3
}

TEST(Decide, TheRunnerUpRanInTheSameSetting) {
  SweepRow other = version(0.9, 1.5);
  other.threads = 7;
  EXPECT_EQ(decide({version(0.9, 1), other, version(0.9, 2)}, {}).runner_up, 2u);
  EXPECT_EQ(decide({version(0.9, 1), other}, {}).runner_up, 1u);
}

TEST(Decide, OfEquallyFastVersionsTakesTheMoreAccurate) {
  const SweepDecision decision = decide({version(0.895, 2), version(0.9, 2)}, {});
  EXPECT_EQ(decision.recommended, 1u);
}

TEST(Decide, ALossOfExactlyTheLimitIsAllowed) {
  // 100 · (0.9 - 0.89) is slightly more than 1 in floating point.
  const SweepDecision decision = decide({version(0.9, 1), version(0.89, 2)}, {});
  EXPECT_EQ(decision.runner_up, 1u);
  EXPECT_EQ(rejection_of(decision, 1).kind, Rejection::Slower);
}

TEST(Decide, BatchesOfSeveralSizesCompareByTheirTimePerSample) {
  SweepRow batched = version(0.9, 8);
  batched.batch_size = 16;  // 0.5 ms a sample
  const SweepDecision decision = decide({version(0.9, 1), batched}, {});
  EXPECT_EQ(decision.recommended, 1u);
  EXPECT_EQ(rejection_of(decision, 0).reason,
            "takes 2.000 times as long as the recommended version");
}

TEST(Decide, NamesWhatKeepsEachRowFromBeingRecommended) {
  SweepRow too_large = version(0.99, 0.5);
  too_large.accepted = false;
  SweepConfig config;
  config.latency_budget_ms = 3;
  const SweepDecision decision =
      decide({too_large, failed("killed by signal 9"), version(0.95, 4), version(0.9, 2)}, config);
  EXPECT_EQ(decision.recommended, 3u);
  EXPECT_EQ(decision.runner_up, std::nullopt);
  EXPECT_EQ(rejection_of(decision, 0).kind, Rejection::OverMemory);
  EXPECT_EQ(rejection_of(decision, 0).reason, "stores 0.5 MB, over the budget of 2 MB");
  EXPECT_EQ(rejection_of(decision, 1).kind, Rejection::Failed);
  EXPECT_EQ(rejection_of(decision, 1).reason, "failed: killed by signal 9");
  EXPECT_EQ(rejection_of(decision, 2).kind, Rejection::OverLatency);
  EXPECT_EQ(rejection_of(decision, 2).reason, "takes 4.000 ms, over the budget of 3 ms");
}

TEST(Decide, WithNothingAcceptedRecommendsNothingAndSaysWhy) {
  SweepRow too_large = version(0.9, 1);
  too_large.accepted = false;
  const SweepDecision decision = decide({too_large}, {});
  EXPECT_EQ(decision.recommended, std::nullopt);
  EXPECT_EQ(decision.reason, "no version is within the budget of 2 MB");
  EXPECT_EQ(decision.rejected.size(), 1u);
  EXPECT_EQ(decide({failed("x")}, {}).reason, "no version could be measured");
  EXPECT_EQ(decide({}, {}).reason, "no version could be measured");
}

TEST(Decide, OfASingleRowHasNoRunnerUp) {
  const SweepDecision decision = decide({version(0.9, 1)}, {});
  EXPECT_EQ(decision.recommended, 0u);
  EXPECT_EQ(decision.runner_up, std::nullopt);
  EXPECT_FALSE(decision.is_beyond_noise);
  EXPECT_THAT(decision.rejected, IsEmpty());
}

TEST(Decide, NeverRecommendsWhatIsNotANumber) {
  const SweepDecision decision =
      decide({version(kNoNumber, 0.1), version(0.9, kNoNumber), version(0.9, 2)}, {});
  EXPECT_EQ(decision.recommended, 2u);
  EXPECT_EQ(decision.runner_up, std::nullopt);
  EXPECT_EQ(rejection_of(decision, 0).kind, Rejection::Failed);
  EXPECT_EQ(rejection_of(decision, 0).reason, "failed: its accuracy is not a number");
  EXPECT_EQ(rejection_of(decision, 1).reason, "failed: its latency is not a number");
}

TEST(Decide, ErrorsOfTwoRatiosAddUpInSquares) {
  // Each is known within a factor of e^0.03 and e^0.04: together e^0.05.
  const auto within = [](double ratio, double half) {
    return LatencyRatio{ratio, ratio * std::exp(-half), ratio * std::exp(half)};
  };
  const SweepDecision decision =
      decide({compared(0.9, 5, within(0.5, 0.03)), compared(0.9, 10, within(1, 0.04))}, {});
  ASSERT_TRUE(decision.versus_runner_up.has_value());
  EXPECT_NEAR(decision.versus_runner_up->ratio, 0.5, 1e-12);
  EXPECT_NEAR(decision.versus_runner_up->ci95_low, 0.5 * std::exp(-0.05), 1e-12);
  EXPECT_NEAR(decision.versus_runner_up->ci95_high, 0.5 * std::exp(0.05), 1e-12);
  EXPECT_TRUE(decision.is_beyond_noise);
  EXPECT_THAT(decision.runner_up_note, HasSubstr("beyond noise"));
}

TEST(Decide, ADifferenceWithinTheIntervalIsNoise) {
  const SweepDecision decision =
      decide({compared(0.9, 5, {0.5, 0.48, 0.52}), compared(0.9, 5.1, {0.51, 0.49, 0.53})}, {});
  EXPECT_FALSE(decision.is_beyond_noise);
  EXPECT_THAT(decision.runner_up_note, HasSubstr("within noise"));
}

TEST(Decide, VersionsThatCannotBeComparedSaySo) {
  SweepRow other = compared(0.9, 3, {0.6, 0.5, 0.7});
  other.batch_size = 2;
  const SweepRow first = compared(0.9, 1, {0.5, 0.4, 0.6});
  EXPECT_THAT(decide({first, other}, {}).runner_up_note, HasSubstr("another batch size"));
  EXPECT_EQ(decide({first, other}, {}).versus_runner_up, std::nullopt);
  EXPECT_THAT(decide({first, version(0.9, 2)}, {}).runner_up_note,
              HasSubstr("not measured in turns"));
}

TEST(DescribeRow, NamesPrecisionAndPruning) {
  EXPECT_EQ(describe(SweepRow{}), "fp32");
  EXPECT_EQ(describe(SweepRow{.pruning_level = 0.25, .precision = "int8"}), "int8, pruned by 0.25");
}

// --- several seeds

TEST(SpreadOf, IsThatOfASample) {
  const Spread spread = spread_of({1, 2, 3});
  EXPECT_EQ(spread.count, 3u);
  EXPECT_DOUBLE_EQ(spread.mean, 2);
  EXPECT_DOUBLE_EQ(spread.std, 1);  // sqrt((1 + 0 + 1) / 2)
  EXPECT_EQ(spread.min, 1);
  EXPECT_EQ(spread.max, 3);
  EXPECT_NEAR(spread.ci95_low, 2 - 4.303 / std::sqrt(3.0), 1e-12);  // t of two degrees of freedom
  EXPECT_NEAR(spread.ci95_high, 2 + 4.303 / std::sqrt(3.0), 1e-12);
  EXPECT_EQ(spread_of({}).count, 0u);
  EXPECT_EQ(spread_of({7}).std, 0);
  EXPECT_EQ(spread_of({7}).count, 1u);
}

TEST(AggregateSeeds, GroupsTheSameVersionOfSeveralSeeds) {
  std::vector<SweepRow> rows = {version(0.8, 2), failed("x"), version(0.9, 4), version(0.5, 1)};
  rows[2].seed = 1;
  rows[3].precision = "int8";
  rows[3].accepted = false;
  const std::vector<SeedAggregate> all = aggregate_seeds(rows);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].runs, 3u);
  EXPECT_EQ(all[0].failed, 1u);
  EXPECT_EQ(all[0].accepted, 2u);
  EXPECT_EQ(all[0].figures.front().first, "accuracy");
  EXPECT_DOUBLE_EQ(all[0].figures.front().second.mean, 0.85);
  EXPECT_EQ(all[0].figures.front().second.count, 2u);
  EXPECT_EQ(all[1].precision, "int8");
  EXPECT_EQ(all[1].accepted, 0u);
}

TEST(AggregateSeeds, NeverMixesMachinesBatchesOrThreads) {
  std::vector<SweepRow> rows = {version(0.8, 2), version(0.8, 2), version(0.8, 2), version(0.8, 2)};
  rows[1].machine.fingerprint = "another";
  rows[2].batch_size = 8;
  rows[3].threads = 2;
  EXPECT_EQ(aggregate_seeds(rows).size(), 4u);
}

TEST(AggregateSeeds, OfAVersionThatAlwaysFailedHasNoFigures) {
  const std::vector<SeedAggregate> all = aggregate_seeds({failed("x"), failed("y")});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].failed, 2u);
  EXPECT_THAT(all[0].figures, IsEmpty());
  EXPECT_THAT(aggregate_seeds({}), IsEmpty());
}

TEST(AggregateSeeds, FiguresAreThoseThatAreNamed) {
  SweepRow row = version(0.8, 2);
  row.metrics->energy_measured_j = 1;
  const std::vector<SeedAggregate> all = aggregate_seeds({row});
  std::vector<std::string> names;
  for (const auto& [name, spread] : all[0].figures) names.push_back(name);
  EXPECT_EQ(names, aggregated_figures());
}

}  // namespace
}  // namespace assay
