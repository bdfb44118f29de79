#include "base/instruction_set.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "assay/error.h"

namespace assay {
namespace {

constexpr InstructionSet kLevels[] = {InstructionSet::Baseline,   InstructionSet::Avx2,
                                      InstructionSet::Avx512,     InstructionSet::Avx512Vnni,
                                      InstructionSet::Avx512Bf16, InstructionSet::Amx};

TEST(InstructionSet, LevelsIncludeThoseBeforeThem) {
  EXPECT_TRUE(processor_has(InstructionSet::Baseline));
  for (std::size_t i = 1; i < std::size(kLevels); ++i) {
    if (!processor_has(kLevels[i])) continue;
    EXPECT_TRUE(processor_has(kLevels[i - 1])) << name(kLevels[i]);
  }
}

TEST(InstructionSet, NothingIsUsedThatTheProcessorLacksOrIsNotAllowed) {
  for (const InstructionSet level : kLevels) {
    if (!may_use(level)) continue;
    EXPECT_TRUE(processor_has(level)) << name(level);
    EXPECT_LE(level, highest_allowed_level());
  }
  EXPECT_TRUE(!has_tiles() || may_use(InstructionSet::Amx));
  EXPECT_TRUE(!may_use_byte_permutations() || may_use(InstructionSet::Avx512));
}

// In a process of its own: the level is read once.
[[noreturn]] void print_level(const char* value) {
  setenv("ASSAY_MAX_ISA", value, 1);
  try {
    std::fprintf(stderr, "level %s", std::string(name(highest_allowed_level())).c_str());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s", error.what());
  }
  std::exit(0);
}

TEST(InstructionSetDeathTest, TheLevelComesFromTheEnvironment) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto exits = testing::ExitedWithCode(0);
  EXPECT_EXIT(print_level("avx2"), exits, "level avx2");
  EXPECT_EXIT(print_level("amx"), exits, "level amx");
  EXPECT_EXIT(print_level("avx3"), exits,
              "ASSAY_MAX_ISA is 'avx3': it may be baseline, avx2, avx512, vnni, bf16 or amx");
}

}  // namespace
}  // namespace assay
