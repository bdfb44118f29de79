#include "base/team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace assay {
namespace {

constexpr int kMostParts = 9;

struct Counts {
  std::array<std::atomic<int>, kMostParts> runs = {};
  std::array<std::atomic<int>, kMostParts> arrivals = {};
  std::atomic<bool> all_had_arrived = true;
};

void count_run(void* data) {
  ++static_cast<Counts*>(data)->runs[static_cast<std::size_t>(Team::current()->number)];
}

// After a meeting every part sees that all others have come.
void meet_twice(void* data) {
  auto& counts = *static_cast<Counts*>(data);
  const Team::Part part = *Team::current();
  for (int meeting = 1; meeting <= 2; ++meeting) {
    ++counts.arrivals[static_cast<std::size_t>(part.number)];
    part.team->meet();
    for (int i = 0; i < part.count; ++i) {
      if (counts.arrivals[static_cast<std::size_t>(i)] < meeting) counts.all_had_arrived = false;
    }
    part.team->meet();
  }
}

bool runs_every_part_once(Team& team, int parts) {
  Counts counts;
  team.run(parts, count_run, &counts);
  for (int i = 0; i < kMostParts; ++i) {
    if (counts.runs[static_cast<std::size_t>(i)] != (i < parts ? 1 : 0)) return false;
  }
  return true;
}

TEST(Team, RunsEveryPartOnceWithMoreOrFewerPartsThanProcessors) {
  Team team;
  for (int round = 0; round < 500; ++round) {
    for (int parts = 1; parts <= kMostParts; ++parts) {
      ASSERT_TRUE(runs_every_part_once(team, parts)) << parts << " parts, round " << round;
    }
  }
}

TEST(Team, PartsThatMeetRunAtTheSameTime) {
  Team team;
  for (int round = 0; round < 100; ++round) {
    for (int parts = 1; parts <= 4; ++parts) {
      Counts counts;
      team.run(parts, meet_twice, &counts);
      ASSERT_TRUE(counts.all_had_arrived) << parts << " parts, round " << round;
    }
  }
}

TEST(Team, TheFirstPartRunsOnTheCallingThread) {
  static std::thread::id first;
  Team team;
  team.run(
      3,
      [](void*) {
        if (Team::current()->number == 0) first = std::this_thread::get_id();
      },
      nullptr);
  EXPECT_EQ(first, std::this_thread::get_id());
}

// A worker that is kept in its part until all others are done keeps nobody from doing them.
TEST(Team, AThreadThatIsDoneRunsThePartsNobodyHasBegun) {
  static std::atomic<int> others_done;
  others_done = 0;
  Team team;
  team.run(
      3,
      [](void*) {
        static std::atomic<bool> is_kept;
        const bool is_first_worker = Team::current()->number != 0 && !is_kept.exchange(true);
        if (is_first_worker) {
          while (others_done.load() < 2) std::this_thread::yield();
        } else {
          ++others_done;
        }
      },
      nullptr);
  EXPECT_EQ(others_done, 2);
}

TEST(Team, ARegionWithinAPartHasOnePart) {
  Team team;
  EXPECT_EQ(Team::current(), nullptr);
  static std::atomic<int> wrong;
  wrong = 0;
  team.run(
      2,
      [](void*) {
        const int outer = Team::current()->number;
        Team::run_alone(
            [](void*) {
              const Team::Part inner = *Team::current();
              if (inner.number != 0 || inner.count != 1 || !inner.is_in_parallel) ++wrong;
            },
            nullptr);
        if (Team::current()->number != outer) ++wrong;
      },
      nullptr);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Team::current(), nullptr);
}

TEST(Team, ACopyOfTheProcessGetsWorkersOfItsOwn) {
  Team team;
  ASSERT_TRUE(runs_every_part_once(team, 3));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(runs_every_part_once(team, 3) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(runs_every_part_once(team, 3));
}

}  // namespace
}  // namespace assay
