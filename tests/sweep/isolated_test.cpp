#include "sweep/isolated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "assay/error.h"

namespace assay::sweep {
namespace {

using testing::HasSubstr;
using Kind = IsolatedEnd::Kind;

class CancelledProgress : public Progress {
 public:
  bool cancelled() const override { return true; }
};

class CountingProgress : public Progress {
 public:
  void report(double fraction, std::string_view what) override {
    last = fraction;
    text = what;
  }
  double last = 0;
  std::string text;
};

IsolatedEnd run(const std::function<std::string(Progress&)>& work, Progress* progress = nullptr) {
  return run_isolated(work, {}, progress, false);
}

std::string sleep_long(Progress&) {
  std::this_thread::sleep_for(std::chrono::seconds(60));
  return "";
}

TEST(Isolated, GivesTheResult) {
  const IsolatedEnd end = run([](Progress&) { return std::string(1 << 20, 'x'); });
  EXPECT_EQ(end.kind, Kind::Finished);
  EXPECT_EQ(end.text.size(), std::size_t{1} << 20);
}

TEST(Isolated, HappensInAnotherProcess) {
  EXPECT_NE(run([](Progress&) { return std::to_string(::getpid()); }).text,
            std::to_string(::getpid()));
}

TEST(Isolated, PassesErrorsOn) {
  const IsolatedEnd end =
      run([](Progress&) -> std::string { throw Error(ErrorKind::BadInput, "no such layer"); });
  EXPECT_EQ(end.kind, Kind::Failed);
  EXPECT_EQ(end.text, "no such layer");
}

TEST(Isolated, ACrashIsAnOutcome) {
  const IsolatedEnd end = run([](Progress&) -> std::string {
    ::signal(SIGSEGV, SIG_DFL);  // without a sanitizer's report
    ::raise(SIGSEGV);
    return "";
  });
  EXPECT_EQ(end.kind, Kind::Failed);
  EXPECT_THAT(end.text, HasSubstr("signal 11"));
}

TEST(Isolated, BeingKilledIsAnOutcome) {
  const IsolatedEnd end = run([](Progress&) -> std::string {
    ::raise(SIGKILL);
    return "";
  });
  EXPECT_THAT(end.text, HasSubstr("memory"));
}

TEST(Isolated, StopsAfterTheTimeout) {
  const IsolatedEnd end = run_isolated(sleep_long, {.seconds = 0.1}, nullptr, false);
  EXPECT_EQ(end.kind, Kind::Failed);
  EXPECT_THAT(end.text, HasSubstr("task_timeout_s, 0.1 seconds"));
}

TEST(Isolated, StopsWhenCancelledIfItMay) {
  CancelledProgress progress;
  EXPECT_EQ(run_isolated(sleep_long, {}, &progress, true).kind, Kind::Stopped);
}

TEST(Isolated, FinishesWhatIsBeingMeasuredWhenCancelled) {
  CancelledProgress progress;
  const IsolatedEnd end =
      run_isolated([](Progress&) { return std::string("row"); }, {}, &progress, false);
  EXPECT_EQ(end.kind, Kind::Finished);
  EXPECT_EQ(end.text, "row");
}

TEST(Isolated, ReportsProgress) {
  CountingProgress progress;
  run(
      [](Progress& inner) {
        inner.report(0.5, "half of it");
        return std::string();
      },
      &progress);
  EXPECT_EQ(progress.last, 0.5);
  EXPECT_EQ(progress.text, "half of it");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Isolated, TooMuchMemoryIsAnOutcome) {
  const IsolatedEnd end = run_isolated(
      [](Progress&) {
        std::vector<char> block(std::size_t{512} << 20, 'x');
        return std::string(1, block.back());
      },
      {.memory_bytes = std::int64_t{64} << 20}, nullptr, false);
  EXPECT_EQ(end.kind, Kind::Failed);
  EXPECT_EQ(end.text, "out of memory");
}
#endif

}  // namespace
}  // namespace assay::sweep
