#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/error.h"
#include "machine/energy_simulation.h"

namespace assay {
namespace {

using testing::FakePace;
using testing::find_flag;
using ::testing::HasSubstr;
using testing::TraceMeter;

MeterInfo counter_info(std::optional<std::int64_t> range = {}) {
  return {.source = "trace", .channels = {{.name = "package-0", .range = range}}};
}

MeterInfo power_info() {
  return {.source = "trace",
          .kind = MeterKind::Power,
          .channels = {{.name = "board"}},
          .update_ms = 100};
}

// A counter under constant power that is updated every `update_ms`, and wraps at `range`.
std::function<MeterValue()> counting(FakePace& pace, double watts, double update_ms = 1,
                                     std::int64_t start = 0, std::int64_t range = 0) {
  return [&pace, watts, update_ms, start, range] {
    const double updates = std::floor(pace.seconds() * 1e3 / update_ms + 1e-6);
    std::int64_t value = start + std::llround(updates * update_ms * watts * 1e3);
    if (range > 0) value %= range;
    return MeterValue{.value = value};
  };
}

TEST(EnergyWindow, OfACounterAtFiveWattsForTenSecondsIsFiftyJoules) {
  FakePace pace;
  TraceMeter meter(counter_info(), counting(pace, 5));
  EnergyWindow window(meter, pace);
  pace.pass(10);
  const EnergyReading reading = window.finish(2.0);
  EXPECT_EQ(reading.gross_j, 5.0 * 10);
  EXPECT_EQ(reading.net_j, (5.0 - 2.0) * 10);
  EXPECT_EQ(reading.seconds, 10);
  EXPECT_EQ(reading.source, "trace: package-0");
  EXPECT_TRUE(reading.flags.empty());
}

TEST(EnergyWindow, OfASensorAtFiveWattsForTenSecondsIsFiftyJoules) {
  FakePace pace;
  TraceMeter meter(power_info(), [] { return MeterValue{.value = 5'000'000}; });
  EnergyWindow window(meter, pace);
  pace.pass(10);
  const EnergyReading reading = window.finish();
  EXPECT_EQ(reading.gross_j, 5.0 * 10);
  EXPECT_FALSE(reading.net_j);
  EXPECT_TRUE(reading.flags.empty());
}

TEST(EnergyWindow, IntegratesARisingPowerByTrapezoids) {
  FakePace pace;
  const double start = pace.seconds();
  TraceMeter meter(power_info(), [&] {
    return MeterValue{.value = std::llround((pace.seconds() - start) * 1e6)};  // t watts
  });
  EnergyWindow window(meter, pace);
  pace.pass(4);
  EXPECT_DOUBLE_EQ(window.finish().gross_j.value(), 4.0 * 4.0 / 2);
}

TEST(EnergyWindow, AddsTheRangeOfACounterThatWrapped) {
  FakePace pace;
  constexpr std::int64_t kRange = 65'000'000;
  TraceMeter meter(counter_info(kRange), counting(pace, 5, 1, kRange - 6'000'000, kRange));
  EnergyWindow window(meter, pace);
  pace.pass(10);
  const EnergyReading reading = window.finish();
  EXPECT_EQ(reading.gross_j, 50);
  EXPECT_TRUE(reading.flags.empty());
}

TEST(EnergyWindow, ReadsOftenEnoughToSeeEveryWrap) {
  FakePace pace;
  constexpr std::int64_t kRange = 10'000'000;  // 10 J: ten rounds
  TraceMeter meter(counter_info(kRange), counting(pace, 10, 1, 0, kRange));
  EnergyWindow window(meter, pace);
  pace.pass(10);
  const EnergyReading reading = window.finish();
  EXPECT_EQ(reading.gross_j, 100);
  EXPECT_TRUE(reading.flags.empty());
}

TEST(EnergyWindow, FlagsAGapInWhichACounterCouldWrapTwice) {
  FakePace pace;
  constexpr std::int64_t kRange = 100'000'000;
  TraceMeter meter(counter_info(kRange), counting(pace, 50, 1, 0, kRange));
  EnergyWindow window(meter, pace);
  pace.stand_still(5);  // 250 J: twice round and a half
  const EnergyReading reading = window.finish();
  EXPECT_EQ(reading.gross_j, 50);
  ASSERT_NE(find_flag(reading, "wrap-unseen"), nullptr);
}

TEST(EnergyWindow, DropsAndFlagsADecreaseOfACounterWithoutRange) {
  FakePace pace;
  constexpr std::int64_t kRound = 20'000'000;
  TraceMeter meter(counter_info(), counting(pace, 5, 1, 0, kRound));
  EnergyWindow window(meter, pace);  // begins at 5 J: falls after 3 s, and 4 s later
  pace.pass(10);
  const EnergyReading reading = window.finish(1.0);
  EXPECT_EQ(reading.gross_j, 8 * 5.0);  // two of ten seconds hold a fall
  EXPECT_FALSE(reading.net_j);
  ASSERT_NE(find_flag(reading, "dropped-stretch"), nullptr);
  EXPECT_THAT(find_flag(reading, "dropped-stretch")->message, HasSubstr("2.000 s"));
}

TEST(EnergyWindow, DoesNotTakeAResetForAWrap) {
  FakePace pace;
  const double start = pace.seconds();
  TraceMeter meter(counter_info(262'000'000'000), [&] {
    const double since = pace.seconds() - start;
    const double joules = since < 4.5 ? 1000 + 5 * since : 5 * (since - 4.5);
    return MeterValue{.value = std::llround(joules * 1e6)};
  });
  EnergyWindow window(meter, pace);
  pace.pass(10);
  const EnergyReading reading = window.finish();
  EXPECT_EQ(reading.gross_j, 9 * 5.0);  // all but the second of the reset
  EXPECT_NE(find_flag(reading, "dropped-stretch"), nullptr);
}

TEST(EnergyWindow, WhoseFirstReadingFailsHasNoJoules) {
  FakePace pace;
  int readings = 0;
  TraceMeter meter(counter_info(), [&]() -> MeterValue {
    if (readings++ == 0) return {.why_not = "not yet"};
    return {.value = 5'000'000};
  });
  EnergyWindow window(meter, pace);
  pace.pass(10);
  const EnergyReading reading = window.finish(1.0);
  EXPECT_FALSE(reading.gross_j);
  EXPECT_FALSE(reading.net_j);
  ASSERT_NE(find_flag(reading, "unread"), nullptr);
  EXPECT_THAT(find_flag(reading, "unread")->message, HasSubstr("not yet"));
}

TEST(EnergyWindow, WhoseMeterVanishesHasNoJoules) {
  FakePace pace;
  const double start = pace.seconds();
  const auto value = counting(pace, 5);
  TraceMeter meter(counter_info(), [&]() -> MeterValue {
    if (pace.seconds() - start > 3) return {.why_not = "gone"};
    return value();
  });
  EnergyWindow window(meter, pace);
  pace.pass(10);
  const EnergyReading reading = window.finish();
  EXPECT_FALSE(reading.gross_j);
  EXPECT_NE(find_flag(reading, "unread"), nullptr);
}

TEST(EnergyWindow, BridgesAReadingThatFailedInBetween) {
  FakePace pace;
  int readings = 0;
  TraceMeter meter(power_info(), [&]() -> MeterValue {
    if (readings++ == 7) return {.why_not = "busy"};
    return {.value = 5'000'000};
  });
  EnergyWindow window(meter, pace);
  pace.pass(10);
  const EnergyReading reading = window.finish();
  EXPECT_EQ(reading.gross_j, 50);
  ASSERT_NE(find_flag(reading, "missed-readings"), nullptr);
  EXPECT_THAT(find_flag(reading, "missed-readings")->message, HasSubstr("1 of 102"));
}

TEST(EnergyWindow, OfFewerThanTwentyUpdatesIsTooShort) {
  for (const auto& [seconds, is_short] : {std::pair(1.9, true), std::pair(2.0, false)}) {
    FakePace pace;
    TraceMeter meter(power_info(), [] { return MeterValue{.value = 5'000'000}; });
    EnergyWindow window(meter, pace);
    pace.pass(seconds);
    EXPECT_EQ(find_flag(window.finish(), "short-window") != nullptr, is_short) << seconds;
  }
}

TEST(EnergyWindow, RunsOnRealTimeAndStopsItsThread) {
  std::atomic<int> readings = 0;
  TraceMeter meter({.source = "trace", .kind = MeterKind::Power, .channels = {{.name = "board"}}},
                   [&] {
                     ++readings;
                     return MeterValue{.value = 5'000'000};
                   });
  EnergyReading reading;
  {
    EnergyWindow window(meter);
    while (readings < 5) real_pace().wait(0.001);
    reading = window.finish();
  }
  const int at_the_end = readings;
  real_pace().wait(0.01);
  EXPECT_EQ(readings, at_the_end);
  EXPECT_NEAR(reading.gross_j.value(), 5 * reading.seconds, 1e-9);
}

TEST(ShortestWindow, IsTwentyObservedUpdates) {
  FakePace pace;
  TraceMeter meter(counter_info(), counting(pace, 5, 4));
  EXPECT_NEAR(shortest_window_ms(meter, pace), 20 * 4, 2);
  const double watched_until = pace.seconds();
  shortest_window_ms(meter, pace);
  EXPECT_EQ(pace.seconds(), watched_until) << "watched again";
}

TEST(ShortestWindow, OfACounterThatStandsStillIsAsDocumented) {
  FakePace pace;
  TraceMeter meter(counter_info(), [] { return MeterValue{.value = 1}; });
  EXPECT_EQ(shortest_window_ms(meter, pace), 20 * 1);
}

TEST(MeasureEnergy, GivesGrossAndNetPerRun) {
  FakePace pace;
  bool is_running = false;
  double joules = 0;
  double seen_until = pace.seconds();
  const auto value = [&] {
    const double now = std::floor(pace.seconds() * 1e3 + 1e-6) * 1e-3;
    joules += (is_running ? 9.0 : 2.0) * (now - seen_until);
    seen_until = now;
    return MeterValue{.value = std::llround(joules * 1e6)};
  };
  TraceMeter meter(counter_info(), value);
  const EnergyReading reading = measure_energy(
      meter,
      [&] {
        value();
        is_running = true;
        pace.pass(0.125);
        value();
        is_running = false;
      },
      {.min_seconds = 2, .idle_seconds = 1}, nullptr, pace);
  EXPECT_EQ(reading.runs, 16u);  // 16 · 0.125 s = 2 s
  EXPECT_NEAR(reading.idle_watts.value(), 2, 1e-6);
  const EnergyEstimate estimate = energy_per_run(reading);
  EXPECT_NEAR(estimate.gross_j_per_run.value(), 9 * 0.125, 1e-6);
  EXPECT_NEAR(estimate.net_j_per_run.value(), (9 - 2) * 0.125, 1e-6);
  EXPECT_FALSE(estimate.proxy_j);
  EXPECT_THAT(estimate.note, HasSubstr("measured by trace: package-0 over 2 s and 16 runs"));
}

TEST(MeasureEnergy, LengthensTheWindowForASlowMeter) {
  FakePace pace;
  TraceMeter meter(counter_info(), counting(pace, 5, 100));
  meter.found_update(100);
  const EnergyReading reading = measure_energy(
      meter, [&] { pace.pass(0.01); }, {.min_seconds = 0.1, .idle_seconds = 0}, nullptr, pace);
  EXPECT_NEAR(reading.seconds, 20 * 0.1, 0.011);
  EXPECT_FALSE(reading.net_j);
  EXPECT_EQ(find_flag(reading, "short-window"), nullptr);
}

TEST(MeasureEnergy, WithoutIdleSaysWhyThereIsNoNet) {
  FakePace pace;
  const double start = pace.seconds();
  TraceMeter meter(power_info(), [&]() -> MeterValue {
    if (pace.seconds() - start < 1) return {.why_not = "waking up"};
    return {.value = 5'000'000};
  });
  const EnergyReading reading = measure_energy(
      meter, [&] { pace.pass(1); }, {.min_seconds = 5, .idle_seconds = 2}, nullptr, pace);
  EXPECT_EQ(reading.gross_j, 25);
  EXPECT_FALSE(reading.net_j);
  ASSERT_NE(find_flag(reading, "no-idle"), nullptr);
  EXPECT_THAT(find_flag(reading, "no-idle")->message, HasSubstr("waking up"));
}

TEST(MeasureEnergy, BelowIdlePowerIsFlagged) {
  FakePace pace;
  std::int64_t power = 6'000'000;
  TraceMeter meter(power_info(), [&] { return MeterValue{.value = power}; });
  const EnergyReading reading = measure_energy(
      meter,
      [&] {
        power = 5'000'000;
        pace.pass(1);
      },
      {.min_seconds = 4, .idle_seconds = 2}, nullptr, pace);
  EXPECT_LT(reading.net_j.value(), 0);
  EXPECT_NE(find_flag(reading, "below-idle"), nullptr);
}

struct CancelsAt : Progress {
  explicit CancelsAt(FakePace& the_pace, double at) : pace(the_pace), seconds(at) {}
  bool cancelled() const override { return pace.seconds() >= seconds; }
  FakePace& pace;
  double seconds = 0;
};

TEST(MeasureEnergy, IsCancelledWhileIdlingAndBetweenRuns) {
  for (const double at : {1.5, 5.0}) {
    FakePace pace;  // begins at 1 s, idles for 2 s
    TraceMeter meter(power_info(), [] { return MeterValue{.value = 5'000'000}; });
    CancelsAt progress(pace, at);
    try {
      measure_energy(
          meter, [&] { pace.pass(0.1); }, {.min_seconds = 9, .idle_seconds = 2}, &progress, pace);
      FAIL() << "not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
    }
    EXPECT_NEAR(pace.seconds(), at, 0.2);
  }
}

TEST(MeasureEnergy, RefusesImpossibleOptions) {
  FakePace pace;
  TraceMeter meter(power_info(), [] { return MeterValue{.value = 5'000'000}; });
  for (const EnergyOptions& options :
       {EnergyOptions{.min_seconds = 0}, EnergyOptions{.min_seconds = 2, .max_seconds = 1},
        EnergyOptions{.idle_seconds = -1}}) {
    EXPECT_THROW(measure_energy(
                     meter, [] {}, options, nullptr, pace),
                 Error);
  }
}

TEST(EnergyEstimate, OfAProxyIsPowerTimesLatencyAndSaysSo) {
  EXPECT_DOUBLE_EQ(energy_proxy_j(15, 20), 15 * 0.020);
  const EnergyEstimate estimate = energy_by_proxy(15, 20);
  EXPECT_DOUBLE_EQ(estimate.proxy_j.value(), 0.3);
  EXPECT_EQ(estimate.power_watts, 15);
  EXPECT_FALSE(estimate.gross_j_per_run);
  EXPECT_THAT(estimate.note, HasSubstr("a proxy, not measured"));
  EXPECT_THROW(energy_proxy_j(0, 20), Error);
  EXPECT_THROW(energy_proxy_j(15, -1), Error);
}

TEST(EnergyEstimate, OfAReadingWithoutJoulesHasNone) {
  const EnergyReading reading = {
      .source = "trace: x", .seconds = 1, .runs = 3, .flags = {{"unread", "x is gone"}}};
  const EnergyEstimate estimate = energy_per_run(reading);
  EXPECT_FALSE(estimate.gross_j_per_run);
  EXPECT_FALSE(estimate.net_j_per_run);
  EXPECT_THAT(estimate.note, HasSubstr("x is gone"));
  EXPECT_THROW(energy_per_run(EnergyReading{}), Error);
}

}  // namespace
}  // namespace assay
