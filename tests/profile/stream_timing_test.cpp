#include "assay/stream_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "assay/error.h"
#include "assay/zoo.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// A clock that only waiting and work advance.
class FakePacedClock : public PacedClock {
 public:
  std::int64_t nanoseconds() override { return now; }
  void wait_until(std::int64_t moment) override { now = std::max(now, moment); }
  void pass(double milliseconds) { now += std::llround(milliseconds * 1e6); }

  std::int64_t now = 12'345;
};

// Every item takes as long as `service` says, by its number.
StreamMeasurement streamed(const std::function<double(std::size_t)>& service, StreamOptions options,
                           Progress* progress = nullptr) {
  FakePacedClock clock;
  std::size_t next = 0;
  options.warmup_runs = 0;
  return measure_stream([&] { clock.pass(service(next++)); }, options, progress, clock);
}

double three_ms(std::size_t) {
  return 3;
}

TEST(Stream, ShorterServiceThanTheIntervalNeverWaits) {
  const auto measured = streamed(three_ms, {.interval_ms = 10, .items = 20});
  EXPECT_EQ(measured.arrived, 20u);
  ASSERT_EQ(measured.items.size(), 20u);
  EXPECT_DOUBLE_EQ(measured.items[7].arrival_ms, 7 * 10);
  EXPECT_DOUBLE_EQ(measured.items[7].start_ms, 7 * 10);
  EXPECT_NEAR(measured.items[7].end_ms, 7 * 10 + 3, 1e-9);
  EXPECT_EQ(measured.queueing.max_ms, 0);
  EXPECT_NEAR(measured.response.median_ms, 3, 1e-9);
  EXPECT_DOUBLE_EQ(measured.elapsed_ms, 20 * 10);
  EXPECT_NEAR(measured.busy_ms, 20 * 3, 1e-9);
  EXPECT_NEAR(measured.utilization, 0.3, 1e-12);
  EXPECT_EQ(measured.missed_deadlines, 0u);
  EXPECT_EQ(measured.largest_backlog, 0u);
  EXPECT_EQ(measured.verdict, StreamVerdict::Sustainable);
}

TEST(Stream, LongerServiceThanTheIntervalPilesUp) {
  // 15 ms each, one every 10 ms, until 400 ms: the 27th begins at 26 · 15 = 390 ms, a 28th at 405.
  const auto measured = streamed([](std::size_t) { return 15; }, {.interval_ms = 10, .items = 40});
  ASSERT_EQ(measured.items.size(), 27u);
  EXPECT_EQ(measured.arrived, 40u);
  EXPECT_EQ(measured.unserved, 13u);
  EXPECT_NEAR(measured.items[26].queueing_ms(), 26 * 15 - 26 * 10, 1e-9);
  EXPECT_NEAR(measured.queueing.max_ms, 26 * 5, 1e-9);
  EXPECT_NEAR(measured.elapsed_ms, 27 * 15, 1e-9);
  EXPECT_NEAR(measured.utilization, 1, 1e-12);
  // Every one served took more than 10 ms. Of those left at 405 ms, the last, of 390, waited 15.
  EXPECT_EQ(measured.missed_deadlines, 40u);
  EXPECT_EQ(measured.largest_backlog, 13u);
  EXPECT_EQ(measured.verdict, StreamVerdict::Overloaded);
  EXPECT_THAT(measured.reason, HasSubstr("13 were left waiting"));
}

TEST(Stream, OneStallDelaysAllItemsThatArriveMeanwhile) {
  // The sixth takes 43 ms instead of 3: it ends at 93. Those of 60, 70, 80 and 90 ms start at 93,
  // 96, 99 and 102 and wait 33, 26, 19 and 12; that of 100 waits 5; that of 110 finds nothing.
  const auto stall = [](std::size_t i) { return i == 5 ? 43 : 3; };
  const auto measured = streamed(stall, {.interval_ms = 10, .items = 20});
  std::vector<double> waited;
  for (std::size_t i = 6; i < 12; ++i) waited.push_back(measured.items[i].queueing_ms());
  const std::vector<double> expected = {33, 26, 19, 12, 5, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(waited[i], expected[i], 1e-9) << i;
  // Missed: the stalled one, and those that took 36, 29, 22 and 15; 5 + 3 ms is in time.
  EXPECT_EQ(measured.missed_deadlines, 5u);
  EXPECT_EQ(measured.largest_backlog, 4u);
  EXPECT_EQ(measured.verdict, StreamVerdict::Sustainable);
  EXPECT_NEAR(measured.busy_ms, 19 * 3 + 43, 1e-9);
}

TEST(Stream, ADeadlineOfItsOwnCountsOtherMisses) {
  const auto stall = [](std::size_t i) { return i == 5 ? 43 : 3; };
  const auto late = streamed(stall, {.interval_ms = 10, .deadline_ms = 25.0, .items = 20});
  EXPECT_EQ(late.missed_deadlines, 3u);  // 43, 36 and 29 ms
  const auto soon = streamed(stall, {.interval_ms = 10, .deadline_ms = 2.5, .items = 20});
  EXPECT_EQ(soon.missed_deadlines, 20u);
}

TEST(Stream, BurstsOfSlowItemsThatDrainAreSustainable) {
  // Of every ten items three take 20 ms and seven 2 ms: 74 ms of 100.
  const auto bursts = [](std::size_t i) { return i % 10 < 3 ? 20 : 2; };
  const auto measured = streamed(bursts, {.interval_ms = 10, .items = 100});
  EXPECT_NEAR(measured.utilization, 0.74, 1e-9);
  EXPECT_EQ(measured.verdict, StreamVerdict::Sustainable);
  // 0, 10, 20 ms of waiting, then 30, 22, 14, 6 and nothing.
  EXPECT_NEAR(measured.queueing.max_ms, 30, 1e-9);
  EXPECT_EQ(measured.largest_backlog, 3u);
}

TEST(Stream, AStallThatHadNoTimeToDrainIsUndecided) {
  const auto stall = [](std::size_t i) { return i == 28 ? 90 : 3; };
  const auto measured = streamed(stall, {.interval_ms = 10, .items = 40});
  // It ends at 280 + 90 = 370 ms; 8 wait then, and 400 ms come first.
  EXPECT_EQ(measured.verdict, StreamVerdict::Undecided);
  EXPECT_THAT(measured.reason, HasSubstr("had not emptied"));
}

TEST(Stream, TooFewItemsAreUndecided) {
  const auto measured = streamed(three_ms, {.interval_ms = 10, .items = 9});
  EXPECT_EQ(measured.verdict, StreamVerdict::Undecided);
  EXPECT_THAT(measured.reason, HasSubstr("too few"));
}

TEST(Stream, TailsNeedEnoughItems) {
  const auto fifty = streamed(three_ms, {.interval_ms = 10, .items = 50});
  EXPECT_TRUE(fifty.response.p90_ms);
  EXPECT_FALSE(fifty.response.p95_ms);
  const auto many = streamed(three_ms, {.interval_ms = 10, .items = 500});
  EXPECT_TRUE(many.response.p99_ms);
}

TEST(Stream, LastsAsLongAsItIsAskedTo) {
  EXPECT_EQ(streamed(three_ms, {.interval_ms = 10, .duration_seconds = 2.0}).arrived, 200u);
  EXPECT_EQ(streamed(three_ms, {.interval_ms = 10}).arrived, 500u);    // 5 s
  EXPECT_EQ(streamed(three_ms, {.interval_ms = 100}).arrived, 100u);   // 10 s
  EXPECT_EQ(streamed(three_ms, {.interval_ms = 10'000}).arrived, 3u);  // 30 s
  EXPECT_EQ(streamed(three_ms, {.interval_ms = 60'000}).arrived, 1u);  // at least one
}

class CancelsAfter : public Progress {
 public:
  explicit CancelsAfter(int questions) : left_(questions) {}
  bool cancelled() const override { return left_-- <= 0; }

 private:
  mutable int left_ = 0;
};

TEST(Stream, CancelledKeepsWhatWasMeasured) {
  CancelsAfter soon(4);
  const auto measured = streamed(three_ms, {.interval_ms = 10, .items = 1000}, &soon);
  EXPECT_TRUE(measured.cancelled);
  EXPECT_GT(measured.items.size(), 10u);
  EXPECT_LT(measured.items.size(), 100u);
  EXPECT_LE(measured.arrived, measured.items.size() + 1);
  CancelsAfter at_once(0);
  EXPECT_THROW(streamed([](std::size_t) { return 1; }, {.interval_ms = 1000, .items = 2}, &at_once),
               Error);
}

TEST(Stream, ALongWaitChecksForCancellation) {
  CancelsAfter soon(3);
  const auto measured = streamed(three_ms, {.interval_ms = 3'600'000, .items = 5}, &soon);
  EXPECT_TRUE(measured.cancelled);
  EXPECT_EQ(measured.items.size(), 1u);
  EXPECT_LT(measured.elapsed_ms, 1000);
}

TEST(Stream, RefusesInvalidOptions) {
  for (const StreamOptions& options :
       {StreamOptions{.interval_ms = 0}, StreamOptions{.interval_ms = NAN},
        StreamOptions{.interval_ms = 10, .deadline_ms = 0.0},
        StreamOptions{.interval_ms = 10, .duration_seconds = -1.0},
        StreamOptions{.interval_ms = 10, .items = 0u}}) {
    EXPECT_THROW(streamed(three_ms, options), Error);
  }
  EXPECT_THROW(measure_stream({}, {.interval_ms = 10}), Error);
}

IntervalSearch searched(const std::function<double(std::size_t)>& service,
                        const IntervalSearchOptions& options = {}, Progress* progress = nullptr) {
  FakePacedClock clock;
  std::size_t next = 0;
  return find_shortest_interval([&] { clock.pass(service(next++)); }, options, progress, clock);
}

TEST(ShortestInterval, IsTheServiceTimeWhereThatNeverChanges) {
  const auto found = searched(three_ms);
  ASSERT_TRUE(found.interval_ms);
  EXPECT_GE(*found.interval_ms, 3);
  EXPECT_LE(*found.interval_ms, 3 * 1.03);
  EXPECT_TRUE(found.is_confirmed);
  EXPECT_FALSE(found.cancelled);
  EXPECT_TRUE(found.probes.back().is_sustainable);
}

TEST(ShortestInterval, IsTheMeanWhereItemsDiffer) {
  // Two of ten take 12 ms, eight 2 ms: 4 ms on average. The queue must empty now and then.
  const auto found = searched([](std::size_t i) { return i % 10 < 2 ? 12 : 2; });
  ASSERT_TRUE(found.interval_ms);
  EXPECT_GE(*found.interval_ms, 4 * 0.97);
  EXPECT_LE(*found.interval_ms, 4 * 1.1);
}

TEST(ShortestInterval, WithADeadlineItMustBeMet) {
  // At 4 ms the queue empties, but the second long item of each ten answers 20 ms after it came;
  // only where 2 · 12 ms have passed by then, at 12 ms, both answer within 12.
  const auto slow = [](std::size_t i) { return i % 10 < 2 ? 12 : 2; };
  const auto found = searched(slow, {.deadline_ms = 12.5});
  ASSERT_TRUE(found.interval_ms);
  EXPECT_GE(*found.interval_ms, 11.4);
  EXPECT_LE(*found.interval_ms, 12 * 1.04);
  EXPECT_FALSE(searched(slow, {.deadline_ms = 1.0}).interval_ms);
}

TEST(ShortestInterval, ThatFailsWhenTriedForLongerIsNotTheAnswer) {
  // Items take 3 ms at first, so that 3.75 ms hold, but 4 ms by the time that is tried again.
  const auto found = searched([](std::size_t i) { return i < 1000 ? 3 : 4; });
  EXPECT_TRUE(found.probes.front().is_sustainable);
  EXPECT_DOUBLE_EQ(found.probes.front().interval_ms, 3 * 1.25);
  ASSERT_TRUE(found.interval_ms);
  EXPECT_GE(*found.interval_ms, 4);
  EXPECT_TRUE(found.is_confirmed);
}

TEST(ShortestInterval, EndsWithItsBudgetOrWhenCancelled) {
  const auto found = searched(three_ms, {.budget_seconds = 2});
  EXPECT_LT(found.elapsed_seconds, 3);
  CancelsAfter soon(6);
  EXPECT_FALSE(searched(three_ms, {}, &soon).is_confirmed);
  EXPECT_THROW(searched(three_ms, {.budget_seconds = 0}), Error);
}

TEST(PacedClock, NeverReturnsBeforeItsTime) {
  PacedClock& clock = paced_clock();
  for (const std::int64_t wait : {0, 1000, 100'000, 2'000'000}) {
    const std::int64_t moment = clock.nanoseconds() + wait;
    clock.wait_until(moment);
    EXPECT_GE(clock.nanoseconds(), moment);
  }
}

TEST(StreamModel, RunsARealModelOnARealClock) {
  const auto streamed =
      stream_model(zoo_model("stream_mlp"), {}, StreamOptions{.interval_ms = 1, .items = 50});
  ASSERT_TRUE(streamed.measured);
  EXPECT_FALSE(streamed.search);
  const auto& items = streamed.measured->items;
  ASSERT_FALSE(items.empty());
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_GE(items[i].start_ms, items[i].arrival_ms - 1e-6);
    EXPECT_GT(items[i].service_ms(), 0);
    EXPECT_GE(items[i].start_ms, i > 0 ? items[i - 1].end_ms : 0);
  }
  EXPECT_EQ(items.size() + streamed.measured->unserved, 50u);
}

}  // namespace
}  // namespace assay
