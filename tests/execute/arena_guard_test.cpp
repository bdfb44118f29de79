#include "execute/cpu/arena_guard.h"

#include <gtest/gtest.h>

#include <array>

namespace assay::cpu {
namespace {

class ArenaGuardTest : public testing::Test {
 protected:
  // Writes byte `at` in a step that owns bytes 64 to 99.
  void write(std::size_t at) {
    volatile std::byte* bytes = arena_.data();
    const std::span<std::byte> own(arena_.data() + 64, 36);
    guarded([=] { bytes[at] = std::byte{1}; }, arena_, {own})();
  }

  alignas(64) std::array<std::byte, 256> arena_ = {};
};

TEST_F(ArenaGuardTest, AStepMayUseItsOwnBytes) {
  write(64);
  write(99);
  EXPECT_EQ(arena_[99], std::byte{1});
}

TEST_F(ArenaGuardTest, BetweenStepsEveryByteMayBeUsed) {
  write(64);
  arena_[0] = std::byte{2};
  EXPECT_EQ(arena_[0], std::byte{2});
}

#ifdef __SANITIZE_ADDRESS__
using ArenaGuardDeathTest = ArenaGuardTest;

TEST_F(ArenaGuardDeathTest, OtherBytesOfTheArenaAreReported) {
  EXPECT_DEATH(write(63), "use-after-poison");
  EXPECT_DEATH(write(100), "use-after-poison");
}
#endif

}  // namespace
}  // namespace assay::cpu
