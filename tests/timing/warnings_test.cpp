#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "timing/proc_stat.h"
#include "timing/simulation.h"
#include "timing/warnings.h"

namespace assay {

using namespace assay::timing;

namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

Measurement measure_on(std::vector<MachineTimes> times) {
  FakeClock clock;
  FakeMachine machine(std::move(times));
  return measure(constant_work(clock, 10e6), {}, nullptr, clock, machine);
}

// 100 samples that count as `effective`, with an interval of ±`error` around their median.
std::vector<TimingWarning> warnings_of_correlated(double effective, double error) {
  Measurement measured;
  measured.samples_ms.assign(100, 1.0);
  measured.latency.median_ms = 1;
  measured.latency.ci95_low_ms = 1 - error;
  measured.latency.ci95_high_ms = 1 + error;
  measured.unmet = "successive samples are correlated";
  return find_warnings(measured, {.target = 0.01, .effective_samples = effective});
}

TEST(TimingWarnings, CorrelatedSamplesWithANarrowIntervalAreMentioned) {
  const auto narrow = warnings_of_correlated(24, 0.008);
  ASSERT_EQ(narrow.size(), 1);
  EXPECT_EQ(narrow[0].name, "correlated");
  EXPECT_FALSE(narrow[0].makes_noisy);
  for (const auto& warnings :
       {warnings_of_correlated(24, 0.02), warnings_of_correlated(8, 0.008)}) {
    ASSERT_EQ(warnings.size(), 1);
    EXPECT_EQ(warnings[0].name, "wide-interval");
    EXPECT_TRUE(warnings[0].makes_noisy);
  }
}

TEST(TimingWarnings, CompetingLoadIsTheShareOfOtherPrograms) {
  // Two processors over 2 s: 3 s busy, 1 s idle; 1 s of it was this process: 2 of 4 s were others'.
  const auto measured = measure_on({{.busy_seconds = 10, .idle_seconds = 5, .own_seconds = 1},
                                    {.busy_seconds = 13, .idle_seconds = 6, .own_seconds = 2}});
  ASSERT_TRUE(find_warning(measured, "competing-load"));
  EXPECT_THAT(find_warning(measured, "competing-load")->message, HasSubstr("used 50 %"));
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
}

TEST(TimingWarnings, LoadThatTheProcessDidNotWaitForDoesNotMakeTheResultNoisy) {
  // 2 of 4 s were others', on another processor.
  MachineTimes after = {.busy_seconds = 4, .own_seconds = 2, .waited_seconds = 0.05};
  const auto beside = measure_on({{.waited_seconds = 0.0}, after});
  ASSERT_TRUE(find_warning(beside, "competing-load"));
  EXPECT_THAT(find_warning(beside, "competing-load")->message,
              HasSubstr("used 50 % of all processor time meanwhile; this one waited 2.4 % of its"));
  EXPECT_EQ(beside.verdict, Verdict::Valid);
  after.waited_seconds = 0.5;  // of 2.5 s
  EXPECT_EQ(measure_on({{.waited_seconds = 0.0}, after}).verdict, Verdict::Noisy);
}

TEST(TimingWarnings, OwnThreadsAreNotCompetingLoad) {
  const auto measured = measure_on({{}, {.busy_seconds = 4, .own_seconds = 3.9}});
  EXPECT_EQ(find_warning(measured, "competing-load"), nullptr);
  EXPECT_EQ(measured.verdict, Verdict::Valid);
}

TEST(TimingWarnings, ALittleLoadIsMentionedButDoesNotMakeTheResultNoisy) {
  // 0.6 of 4 s.
  const auto measured =
      measure_on({{}, {.busy_seconds = 2.6, .idle_seconds = 1.4, .own_seconds = 2}});
  EXPECT_TRUE(find_warning(measured, "competing-load"));
  EXPECT_EQ(measured.verdict, Verdict::Valid);
}

TEST(TimingWarnings, StealTimeIsReported) {
  const auto measured = measure_on(
      {{}, {.busy_seconds = 1, .idle_seconds = 2.9, .stolen_seconds = 0.1, .own_seconds = 1}});
  ASSERT_TRUE(find_warning(measured, "steal-time"));
  EXPECT_THAT(find_warning(measured, "steal-time")->message, HasSubstr("took 2.5 %"));
}

TEST(TimingWarnings, WithoutMachineTimesThereAreNoLoadWarnings) {
  EXPECT_TRUE(measure_on({}).warnings.empty());
  // 0.1 s are ten ticks: too little to judge.
  EXPECT_TRUE(measure_on({{}, {.busy_seconds = 0.1}}).warnings.empty());
}

// Of 200 runs with a deviation of 0.5 %, the second half takes `times` as long.
Measurement with_later_half(double times) {
  FakeClock clock;
  FakeMachine machine;
  NoisyRuns runs({.deviation = 0.005}, 3);
  int run = 0;
  const auto factor = [&] { return runs.next() * (run++ < 100 ? 1.0 : times); };
  return measure(simulated_work(clock, 1e6, factor), {.fixed_warmup = 0, .fixed_samples = 200},
                 nullptr, clock, machine);
}

TEST(TimingWarnings, AChangeOfAFewPercentIsNamedAndALargeOneIsNoisy) {
  for (const double times : {1.03, 1.10}) {
    const Measurement measured = with_later_half(times);
    const TimingWarning* change = find_warning(measured, "level-change");
    ASSERT_TRUE(change) << times;
    EXPECT_EQ(change->makes_noisy, times > 1.05) << times;
  }
}

TEST(TimingWarnings, ALevelChangeIsDistinguishedFromDrift) {
  FakeClock clock;
  FakeMachine machine;
  NoisyRuns runs({.deviation = 0.02}, 3);
  int run = 0;
  const auto factor = [&] { return runs.next() * (run++ < 60 ? 1.0 : 1.1); };
  const auto measured = measure(simulated_work(clock, 1e6, factor),
                                {.fixed_warmup = 0, .fixed_samples = 100}, nullptr, clock, machine);
  ASSERT_TRUE(find_warning(measured, "level-change"));
  EXPECT_THAT(find_warning(measured, "level-change")->message,
              HasSubstr("from sample 61 of 100 on, runs were"));
  EXPECT_THAT(find_warning(measured, "level-change")->message, HasSubstr("% slower"));
  EXPECT_EQ(find_warning(measured, "drift"), nullptr);
  EXPECT_EQ(find_warning(measured, "bimodal"), nullptr);
}

TEST(TimingWarnings, TwoModesAreDescribed) {
  const auto measured = simulate({.deviation = 0.01, .other = 1.3, .other_share = 0.25}, 1e6, 5,
                                 {.fixed_samples = 400});
  ASSERT_TRUE(find_warning(measured, "bimodal"));
  EXPECT_THAT(find_warning(measured, "bimodal")->message, HasSubstr("around 1.296 ms"));
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
}

TEST(TimingWarnings, EveryWarningGivesFiguresAndAdvice) {
  const auto measured = simulate({.deviation = 0.3}, 1e9, 2, {.max_seconds = 5});
  EXPECT_FALSE(measured.warnings.empty());
  for (const auto& warning : measured.warnings) {
    EXPECT_NE(warning.message.find_first_of("0123456789"), std::string::npos) << warning.name;
    EXPECT_FALSE(warning.advice.empty()) << warning.name;
  }
}

TEST(ProcStat, TheFirstLineIsReadInTicks) {
  const auto times =
      parse_proc_stat("cpu  100 20 30 4000 50 6 4 200 7 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n", 100);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy_seconds, (100 + 20 + 30 + 6 + 4) / 100.0);  // guest is in user
  EXPECT_DOUBLE_EQ(times->idle_seconds, (4000 + 50) / 100.0);
  EXPECT_DOUBLE_EQ(times->stolen_seconds, 2.0);
}

TEST(ProcStat, AnyOtherTextIsRejected) {
  EXPECT_FALSE(parse_proc_stat("", 100));
  EXPECT_FALSE(parse_proc_stat("cpu  1 2 3", 100));
  EXPECT_FALSE(parse_proc_stat("cpu  1 2 3 4 five 6 7 8", 100));
  EXPECT_FALSE(parse_proc_stat("intr 1 2 3 4 5 6 7 8", 100));
  EXPECT_FALSE(parse_proc_stat("cpu  1 2 3 4 5 6 7 8", 0));
}

TEST(ProcStat, TimesOfThisMachineNeverDecrease) {
  const auto before = this_machine().times();
  const auto after = this_machine().times();
  ASSERT_TRUE(before && after);
  EXPECT_GE(after->busy_seconds, before->busy_seconds);
  EXPECT_GE(after->own_seconds, before->own_seconds);
}

}  // namespace
}  // namespace assay
