#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cerrno>
#include <map>
#include <set>
#include <thread>

#include "assay/counters.h"
#include "assay/error.h"
#include "machine/counters/perf_system.h"

namespace assay {

using namespace assay::machine;

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array kCyclesAndInstructions = {CounterEvent::Cycles, CounterEvent::Instructions};

// A kernel that opens what it is asked for, unless told otherwise, and counts what it is told.
class FakePerf : public PerfSystem {
 public:
  struct Opened {
    perf_event_attr event = {};
    int thread = 0;
    int group = -1;
    bool is_on = false;
    std::array<std::uint64_t, 3> words = {};
  };

  std::vector<int> threads() override { return all_threads; }
  int open(const perf_event_attr& event, int thread, int group) override {
    if (const int error = refuse ? refuse(event, thread, group) : 0; error != 0) return -error;
    opened[next_] = {event, thread, group, event.disabled == 0, {}};
    return next_++;
  }
  std::optional<std::array<std::uint64_t, 3>> read(int descriptor) override {
    if (silent.contains(descriptor)) return {};
    return opened.at(descriptor).words;
  }
  void enable(int descriptor, bool on) override {
    EXPECT_EQ(opened.at(descriptor).group, -1) << "not a leader";
    opened.at(descriptor).is_on = on;
  }
  void close(int descriptor) override { opened.erase(descriptor); }
  std::optional<int> paranoid() override { return level; }

  std::vector<int> all_threads = {100};
  std::function<int(const perf_event_attr&, int thread, int group)> refuse = {};
  std::map<int, Opened> opened = {};
  std::set<int> silent = {};
  std::optional<int> level = 2;

 private:
  int next_ = 10;
};

std::function<int(const perf_event_attr&, int, int)> refuse_hardware(int error) {
  return [error](const perf_event_attr& event, int, int) {
    return event.type == PERF_TYPE_HARDWARE ? error : 0;
  };
}

TEST(Counters, AreOneGroupForEveryThreadAndForLaterThreads) {
  FakePerf perf;
  perf.all_threads = {100, 101};
  const Counters counters(kCyclesAndInstructions, perf);
  EXPECT_THAT(counters.available(), ElementsAre(CounterEvent::Cycles, CounterEvent::Instructions));
  EXPECT_THAT(counters.why_not(), ElementsAre());
  ASSERT_EQ(perf.opened.size(), 2u * 2u);
  EXPECT_EQ(perf.opened.at(10).group, -1);
  EXPECT_EQ(perf.opened.at(12).group, 10);  // of thread 100
  EXPECT_EQ(perf.opened.at(13).group, 11);  // of thread 101
  for (const auto& [descriptor, one] : perf.opened) {
    EXPECT_EQ(one.event.inherit, 1u);
    EXPECT_EQ(one.event.exclude_kernel, 1u);
    EXPECT_EQ(one.event.disabled, one.group == -1 ? 1u : 0u);
  }
}

TEST(Counters, StartAndStopTheLeadersAndCloseEverything) {
  FakePerf perf;
  {
    Counters counters(kCyclesAndInstructions, perf);
    EXPECT_FALSE(perf.opened.at(10).is_on);
    counters.start();
    EXPECT_TRUE(perf.opened.at(10).is_on);
    counters.stop();
    EXPECT_FALSE(perf.opened.at(10).is_on);
  }
  EXPECT_TRUE(perf.opened.empty());
}

TEST(Counters, AddThreadsAndGiveDifferences) {
  FakePerf perf;
  perf.all_threads = {100, 101};
  const Counters counters(kCyclesAndInstructions, perf);
  perf.opened.at(10).words = {1000, 50, 50};
  const CounterSnapshot before = counters.read();
  perf.opened.at(10).words = {1500, 150, 150};
  perf.opened.at(11).words = {300, 100, 100};
  perf.opened.at(12).words = {1200, 100, 100};
  const CounterValues values = between(before, counters.read());
  EXPECT_EQ(values[CounterEvent::Cycles], 500 + 300);
  EXPECT_EQ(values[CounterEvent::Instructions], 1200);
  EXPECT_EQ(values.instructions_per_cycle(), 1200.0 / 800);
  EXPECT_FALSE(values[CounterEvent::CacheMisses]);
  EXPECT_EQ(values.share_counted, 1);
}

TEST(Counters, ThatWereMultiplexedAreScaledUp) {
  FakePerf perf;
  const Counters counters(kCyclesAndInstructions, perf);
  perf.opened.at(10).words = {1000, 100, 100};
  perf.opened.at(11).words = {0, 100, 0};
  const CounterSnapshot before = counters.read();
  perf.opened.at(10).words = {1000 + 250, 100 + 400, 100 + 100};
  perf.opened.at(11).words = {0, 500, 0};
  const CounterValues values = between(before, counters.read());
  EXPECT_EQ(values[CounterEvent::Cycles], 250 * 400 / 100);
  EXPECT_FALSE(values[CounterEvent::Instructions]) << "never counted is not 0";
  EXPECT_EQ(values.share_counted, 0);
}

TEST(Counters, OfASleepingThreadAreZeroAndUnreportedOnesMissing) {
  FakePerf perf;
  const Counters counters(kCyclesAndInstructions, perf);
  const CounterSnapshot before = counters.read();
  perf.silent = {11};
  const CounterValues values = between(before, counters.read());
  EXPECT_EQ(values[CounterEvent::Cycles], 0);
  EXPECT_FALSE(values[CounterEvent::Instructions]);
  EXPECT_FALSE(values.instructions_per_cycle());
}

TEST(Counters, OfTwoDifferentSetsAreNotCompared) {
  FakePerf perf;
  const Counters counters(kCyclesAndInstructions, perf);
  EXPECT_THROW(between({}, counters.read()), Error);
}

TEST(Counters, ThatDoNotFitIntoOneGroupAreCountedAlone) {
  FakePerf perf;
  perf.refuse = [](const perf_event_attr& event, int, int group) {
    return event.config == PERF_COUNT_HW_BRANCH_MISSES && group != -1 ? EINVAL : 0;
  };
  const Counters counters(kCounterEvents, perf);
  EXPECT_EQ(counters.available().size(), kCounterEvents.size());
  EXPECT_EQ(perf.opened.at(14).event.config, std::uint64_t{PERF_COUNT_HW_BRANCH_MISSES});
  EXPECT_EQ(perf.opened.at(14).group, -1);
  EXPECT_EQ(perf.opened.at(14).event.disabled, 1u);
}

TEST(Counters, WithoutHardwareKeepTheKernelsOwnAndSayWhyInOneLine) {
  for (const auto& [error, words] :
       std::vector<std::pair<int, std::string>>{{ENOENT, "virtual machine"},
                                                {EOPNOTSUPP, "virtual machine"},
                                                {ENOSYS, "no perf_event_open here"},
                                                {EMFILE, "ulimit -n"},
                                                {E2BIG, "perf_event_open says"}}) {
    FakePerf perf;
    perf.refuse = refuse_hardware(error);
    const Counters counters(kCounterEvents, perf);
    EXPECT_FALSE(counters.has_hardware());
    EXPECT_THAT(counters.available(), ElementsAre(CounterEvent::TaskClock, CounterEvent::PageFaults,
                                                  CounterEvent::ContextSwitches));
    EXPECT_THAT(counters.why_not(),
                ElementsAre(AllOf(HasSubstr("cycles, instructions, cache-references, "
                                            "cache-misses, branch-misses: "),
                                  HasSubstr(words))));
  }
}

TEST(Counters, ThatAreForbiddenNameTheLevelAndWhatToTry) {
  FakePerf perf;
  perf.refuse = [](const perf_event_attr&, int, int) { return EACCES; };
  perf.level = 4;
  EXPECT_THAT(Counters(kCounterEvents, perf).why_not(),
              ElementsAre(AllOf(HasSubstr("perf_event_paranoid is 4"),
                                HasSubstr("sudo sysctl kernel.perf_event_paranoid=2"))));
  perf.level = 1;  // not the level then: a sandbox
  EXPECT_THAT(Counters(kCounterEvents, perf).why_not(),
              ElementsAre(HasSubstr("--cap-add PERFMON")));
  perf.level = {};
  EXPECT_THAT(Counters(kCounterEvents, perf).why_not(), ElementsAre(HasSubstr("unknown")));
}

TEST(Counters, LeaveOutAThreadThatHasEnded) {
  FakePerf perf;
  perf.all_threads = {100, 101};
  perf.refuse = [](const perf_event_attr&, int thread, int) { return thread == 101 ? ESRCH : 0; };
  const Counters counters(kCyclesAndInstructions, perf);
  EXPECT_EQ(counters.available().size(), 2u);
  EXPECT_EQ(perf.opened.size(), 2u);
}

TEST(Counters, RefusedForOneThreadAreNotCountedForAny) {
  FakePerf perf;
  perf.all_threads = {100, 101};
  perf.refuse = [](const perf_event_attr& event, int thread, int) {
    return thread == 101 && event.config == PERF_COUNT_HW_CPU_CYCLES ? EMFILE : 0;
  };
  const Counters counters(kCyclesAndInstructions, perf);
  EXPECT_THAT(counters.available(), ElementsAre(CounterEvent::Instructions));
  ASSERT_EQ(perf.opened.size(), 2u);
  for (const auto& [descriptor, one] : perf.opened) EXPECT_EQ(one.group, -1);
}

void work_for_twenty_milliseconds() {
  timespec own = {};
  while (own.tv_sec == 0 && own.tv_nsec < 20'000'000) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
}

// The real kernel, as far as it allows: whatever is available counts, whatever is not says why.
TEST(Counters, OfThisMachineCountWhatAThreadStartedLaterDoes) {
  Counters counters;
  if (counters.available().size() < kCounterEvents.size()) {
    EXPECT_THAT(counters.why_not(), ::testing::Not(ElementsAre()));
  }
  counters.start();
  const CounterSnapshot before = counters.read();
  std::thread(work_for_twenty_milliseconds).join();
  const CounterSnapshot after = counters.read();
  counters.stop();
  const CounterValues values = between(before, after);
  for (const CounterEvent event : counters.available()) {
    EXPECT_TRUE(values[event].has_value()) << name(event);
  }
  EXPECT_GE(values[CounterEvent::TaskClock].value_or(20e6), 20e6);
  const CounterSnapshot stopped = counters.read();
  std::vector<char> unseen(64 * 4096, 1);
  EXPECT_EQ(between(stopped, counters.read())[CounterEvent::PageFaults].value_or(0), 0);
}

}  // namespace
}  // namespace assay
