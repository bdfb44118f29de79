#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "assay/error.h"
#include "support/error_message.h"
#include "timing/simulation.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Measure : public ::testing::Test {
 protected:
  Measurement measure_it(const TimedWork& timed, const TimingOptions& options = {}) {
    return measure(timed, options, nullptr, clock_, machine_);
  }
  // The size of every block of runs that was asked for.
  TimedWork counted(TimedWork timed) {
    timed.work = [this, inner = timed.work](std::size_t runs) {
      blocks_.push_back(runs);
      inner(runs);
    };
    return timed;
  }
  std::size_t runs_done() const {
    return std::accumulate(blocks_.begin(), blocks_.end(), std::size_t{0});
  }

  FakeClock clock_;
  FakeMachine machine_;
  std::vector<std::size_t> blocks_;
};

TEST_F(Measure, StopsAtTheMinimumWhenNothingVaries) {
  // 10 ms a run: 0.5 s of sampling are 50 runs.
  const auto measured = measure_it(constant_work(clock_, 10e6));
  EXPECT_EQ(measured.samples_ms.size(), 50u);
  EXPECT_DOUBLE_EQ(measured.latency.median_ms, 10);
  EXPECT_DOUBLE_EQ(*measured.latency.ci95_low_ms, 10);
  EXPECT_DOUBLE_EQ(*measured.latency.ci95_high_ms, 10);
  EXPECT_DOUBLE_EQ(measured.latency.std_ms, 0);
  EXPECT_EQ(measured.runs_per_sample, 1u);
  EXPECT_EQ(measured.verdict, Verdict::Valid);
  EXPECT_EQ(measured.unmet, "");
  EXPECT_TRUE(measured.warnings.empty());
  EXPECT_TRUE(measured.outliers.empty());
}

TEST_F(Measure, TakesAtLeastTheMinimumNumberOfSamples) {
  // 200 ms a run: 0.5 s would be 3 of them.
  EXPECT_EQ(measure_it(constant_work(clock_, 200e6)).samples_ms.size(), 10u);
}

TEST_F(Measure, DoesNotCountTimeSpentInTheListener) {
  struct Waiting : Progress {
    explicit Waiting(FakeClock& its_clock) : clock(its_clock) {}
    void sampled(std::size_t /*samples*/) override { clock.pass(1e9); }
    FakeClock& clock;
  } waiting(clock_);
  const auto measured = measure(constant_work(clock_, 10e6), {}, &waiting, clock_, machine_);
  EXPECT_EQ(measured.samples_ms.size(), 50u);
  EXPECT_DOUBLE_EQ(measured.latency.max_ms, 10);
}

TEST_F(Measure, TakesOneSampleWhateverItCosts) {
  const auto measured = measure_it(constant_work(clock_, 60e9));
  EXPECT_EQ(measured.samples_ms.size(), 1u);
  EXPECT_EQ(measured.warmup_runs, 1u);
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
  EXPECT_EQ(measured.unmet, "1 of the 6 samples that a 95 % interval needs, after 60.0 s");
  ASSERT_TRUE(find_warning(measured, "few-samples"));
}

TEST_F(Measure, OneSampleHasNoInterval) {
  const auto one = measure_it(constant_work(clock_, 10e6), {.fixed_samples = 1});
  EXPECT_FALSE(one.latency.ci95_low_ms);
  EXPECT_FALSE(one.latency.ci95_high_ms);
  ASSERT_TRUE(find_warning(one, "few-samples"));
  EXPECT_EQ(find_warning(one, "few-samples")->message, "1 sample: one has no interval");
  EXPECT_TRUE(measure_it(constant_work(clock_, 10e6), {.fixed_samples = 2}).latency.ci95_low_ms);
}

TEST_F(Measure, TakesTheFirstRunFromBeforeTheMeasurement) {
  TimedWork work = constant_work(clock_, 10e6);
  work.first_run_ms = 70;
  const auto measured = measure_it(work);
  EXPECT_EQ(measured.first_run_ms, 70);
  ASSERT_TRUE(find_warning(measured, "first-run"));
  EXPECT_EQ(find_warning(measured, "first-run")->message,
            "the first run took 70.00 ms, 7.0 times the median");
}

TEST_F(Measure, NamesTheCriterionThatTheBudgetLeftUnmet) {
  NoisyRuns runs({.deviation = 0.3}, 1);
  const auto measured =
      measure_it(simulated_work(clock_, 100e6, [&] { return runs.next(); }), {.max_seconds = 5});
  // 50 samples of 30 % noise: 2 * 1.25 * 30 % / sqrt(50) is about 10 %.
  EXPECT_THAT(measured.unmet, HasSubstr("the interval is −9.3/+6.6 %"));
  EXPECT_THAT(measured.unmet, HasSubstr(" %, target ±1 %, after 5."));
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
  ASSERT_TRUE(find_warning(measured, "wide-interval"));
  EXPECT_EQ(find_warning(measured, "wide-interval")->message, measured.unmet);
}

TEST_F(Measure, ObeysFixedCountsExactly) {
  const auto measured =
      measure_it(counted(constant_work(clock_, 100)), {.fixed_warmup = 7, .fixed_samples = 4});
  EXPECT_EQ(measured.warmup_runs, 7u);
  EXPECT_EQ(measured.samples_ms.size(), 4u);
  EXPECT_EQ(measured.runs_per_sample, 1u);
  EXPECT_EQ(runs_done(), 7u + 4u);
  EXPECT_THAT(std::vector(blocks_.end() - 4, blocks_.end()), ElementsAre(1, 1, 1, 1));
}

TEST_F(Measure, CountsTheFirstSampleAsFirstRunWhereNothingWarmsUp) {
  bool first = true;
  const auto factor = [&] { return std::exchange(first, false) ? 5.0 : 1.0; };
  const auto measured = measure_it(counted(simulated_work(clock_, 1e6, factor)),
                                   {.fixed_warmup = 0, .fixed_samples = 40});
  EXPECT_EQ(measured.warmup_runs, 0u);
  EXPECT_EQ(runs_done(), 40u);
  EXPECT_EQ(measured.first_run_ms, 5.0);
  EXPECT_THAT(measured.outliers, ElementsAre(0));
  EXPECT_EQ(measured.samples_ms.front(), 5.0) << "flagged, not dropped";
  ASSERT_TRUE(find_warning(measured, "first-run"));
  EXPECT_THAT(find_warning(measured, "first-run")->message, HasSubstr("5.0 times the median"));
  EXPECT_THAT(find_warning(measured, "first-run")->advice, HasSubstr("among the samples"));
  EXPECT_EQ(measured.verdict, Verdict::Valid);
}

TEST_F(Measure, CombinesShortRunsUntilTheClockIsNegligible) {
  FakeClock clock(24, 20);
  const auto measured = measure(constant_work(clock, 1000), {}, nullptr, clock, machine_);
  // 24 ns a reading are 0.01 % of 240 µs, which are 240 runs of 1 µs.
  EXPECT_GE(measured.runs_per_sample, 230u);
  EXPECT_LE(measured.runs_per_sample, 250u);
  EXPECT_NEAR(measured.latency.median_ms, 1e-3, 1e-6);
  EXPECT_EQ(find_warning(measured, "clock-resolution"), nullptr);
}

TEST_F(Measure, TimesLongRunsAlone) {
  FakeClock clock(24, 20);
  // 24 ns of 50 µs are 0.05 %.
  EXPECT_EQ(measure(constant_work(clock, 50e3), {}, nullptr, clock, machine_).runs_per_sample, 1u);
}

TEST_F(Measure, WarnsOfAClockTooCoarseForFixedSamples) {
  FakeClock clock(24, 20);
  const auto measured =
      measure(constant_work(clock, 500), {.fixed_samples = 50}, nullptr, clock, machine_);
  ASSERT_TRUE(find_warning(measured, "clock-resolution"));
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
}

TEST_F(Measure, SurvivesWorkThatTakesNoTimeAndAClockThatStandsStill) {
  std::size_t calls = 0;
  TimedWork nothing;
  nothing.work = [&](std::size_t) { ++calls; };
  const auto measured = measure_it(nothing, {.max_samples = 1000});
  EXPECT_EQ(measured.samples_ms.size(), 1000u);
  EXPECT_EQ(measured.runs_per_sample, 1u);
  EXPECT_EQ(measured.latency.median_ms, 0);
  EXPECT_EQ(measured.latency.ci95_high_ms, 0);
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
  ASSERT_TRUE(find_warning(measured, "clock-resolution"));
  EXPECT_LT(calls, 30'000u);
}

TEST_F(Measure, WarmsUpUntilTimesNoLongerFall) {
  // Falls by a factor of 3 over the first 100 runs of 1 ms or more.
  int run = 0;
  const auto factor = [&] { return 1 + 2 * std::exp(-run++ / 30.0); };
  const auto measured = measure_it(simulated_work(clock_, 1e6, factor));
  EXPECT_GE(measured.warmup_runs, 100u);
  EXPECT_LE(measured.warmup_runs, 300u);
  EXPECT_NEAR(measured.latency.median_ms, 1, 0.01);
  EXPECT_NEAR(*measured.first_run_ms, 3, 0.01);
  EXPECT_TRUE(find_warning(measured, "first-run"));
}

TEST_F(Measure, EndsWarmUpAtACapWhenTimesFallForever) {
  double factor = 1;
  const auto measured = measure_it(simulated_work(clock_, 10e6, [&] { return factor *= 0.995; }),
                                   {.max_seconds = 3, .fixed_samples = 60});
  // 30 % of 3 s: the n-th run ends at 10 ms * (1 - 0.995^n) / 0.005, so that 0.9 s are 119 runs.
  EXPECT_NEAR(static_cast<double>(measured.warmup_runs), 119, 3);
  EXPECT_TRUE(find_warning(measured, "drift"));
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
}

TEST_F(Measure, OmitsTailsThatNeedMoreSamples) {
  const auto tails_of = [&](std::size_t samples) {
    return measure_it(constant_work(clock_, 1e6), {.fixed_samples = samples}).latency;
  };
  // Five samples expected beyond: 5 / 0.1, 5 / 0.05, 5 / 0.01.
  EXPECT_FALSE(tails_of(49).p90_ms);
  EXPECT_TRUE(tails_of(50).p90_ms);
  EXPECT_FALSE(tails_of(99).p95_ms);
  EXPECT_TRUE(tails_of(100).p95_ms);
  EXPECT_FALSE(tails_of(499).p99_ms);
  EXPECT_TRUE(tails_of(500).p99_ms);
}

TEST_F(Measure, SummarisesWithTheUsualDefinitions) {
  // 1, 2, … 100 ms in this order.
  int run = 0;
  const auto measured = measure_it(simulated_work(clock_, 1e6, [&] { return 1.0 + run++; }),
                                   {.fixed_warmup = 0, .fixed_samples = 100});
  const auto& latency = measured.latency;
  EXPECT_DOUBLE_EQ(latency.median_ms, 50.5);
  EXPECT_DOUBLE_EQ(latency.mean_ms, 50.5);
  EXPECT_NEAR(latency.std_ms, 29.011, 0.001);  // sqrt(100 * 101 / 12)
  EXPECT_DOUBLE_EQ(latency.min_ms, 1);
  EXPECT_DOUBLE_EQ(latency.max_ms, 100);
  EXPECT_DOUBLE_EQ(*latency.p90_ms, 90.1);  // position 0.9 * 99 from 0
  EXPECT_DOUBLE_EQ(*latency.p95_ms, 95.05);
  EXPECT_LE(latency.ci95_low_ms, latency.median_ms);
  EXPECT_GE(latency.ci95_high_ms, latency.median_ms);
}

class CancelAfter : public Progress {
 public:
  explicit CancelAfter(int questions) : left_(questions) {}
  bool cancelled() const override { return --left_ < 0; }
  void report(double fraction, std::string_view) override { fractions.push_back(fraction); }
  std::vector<double> fractions;

 private:
  mutable int left_ = 0;
};

TEST_F(Measure, KeepsWhatItHasWhenCancelled) {
  CancelAfter progress(20);
  const auto measured =
      measure(constant_work(clock_, 10e6), {.fixed_warmup = 3}, &progress, clock_, machine_);
  EXPECT_TRUE(measured.cancelled);
  EXPECT_GE(measured.samples_ms.size(), 6u);
  EXPECT_LE(measured.samples_ms.size(), 20u);
  EXPECT_DOUBLE_EQ(measured.latency.median_ms, 10);
  for (const double fraction : progress.fractions) {
    EXPECT_GE(fraction, 0);
    EXPECT_LE(fraction, 1);
  }
}

TEST_F(Measure, SaysSoWhenCancelledBeforeTheFirstSample) {
  CancelAfter progress(1);
  const auto measured = measure(constant_work(clock_, 10e6), {}, &progress, clock_, machine_);
  EXPECT_TRUE(measured.cancelled);
  EXPECT_TRUE(measured.samples_ms.empty());
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
  EXPECT_EQ(measured.unmet, "cancelled before the first sample");
}

TEST_F(Measure, PassesOnWhatTheWorkThrows) {
  TimedWork broken;
  broken.work = [](std::size_t) { throw Error(ErrorKind::Failed, "out of paper"); };
  EXPECT_THROW(measure_it(broken), Error);
}

TEST_F(Measure, CallsAfterSampleOutsideTheTimedRegion) {
  std::size_t calls = 0;
  auto timed = constant_work(clock_, 10e6);
  timed.after_sample = [&] {
    ++calls;
    clock_.pass(1e9);
  };
  const auto measured = measure_it(timed, {.fixed_samples = 12});
  EXPECT_EQ(calls, 12u);
  EXPECT_DOUBLE_EQ(measured.latency.max_ms, 10);
}

TEST_F(Measure, RefusesOptionsThatMakeNoSense) {
  const auto refusal = [&](const TimingOptions& options) {
    return error_message(ErrorKind::Usage,
                         [&] { measure_it(constant_work(clock_, 1e6), options); });
  };
  EXPECT_THAT(refusal({.target = 0}), HasSubstr("target 0"));
  EXPECT_THAT(refusal({.max_seconds = -1}), HasSubstr("max_seconds -1"));
  EXPECT_THAT(refusal({.max_samples = 0}), HasSubstr("0 samples"));
  EXPECT_THAT(refusal({.fixed_samples = 0}), HasSubstr("0 samples"));
  EXPECT_THROW(measure_it(TimedWork{}), Error);
}

TEST_F(Measure, RunsOnTheRealClockToo) {
  TimedWork timed;
  volatile double sink = 1;
  timed.work = [&](std::size_t runs) {
    for (std::size_t i = 0; i < runs; ++i) sink = sink * 1.0000001;
  };
  const auto measured = measure(timed, {.min_seconds = 0.01, .max_seconds = 0.05});
  EXPECT_GT(measured.latency.median_ms, 0);
  EXPECT_GE(measured.latency.ci95_high_ms, measured.latency.ci95_low_ms);
}

}  // namespace
}  // namespace assay
