#include "memory/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

namespace assay {

using namespace assay::memory;

namespace {

std::size_t steps_of(std::span<const Block> blocks) {
  std::size_t steps = 1;
  for (const Block& block : blocks) steps = std::max(steps, block.last + 1);
  return steps;
}

Packing packed(const std::vector<Block>& blocks) {
  return pack(blocks, bytes_by_step(blocks, steps_of(blocks)));
}

// The first two blocks that share a step and a byte, or nothing.
std::string overlap(std::span<const Block> blocks, const Packing& packing) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool same_time = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
      const bool same_bytes = packing.offsets[i] < packing.offsets[j] + blocks[j].bytes &&
                              packing.offsets[j] < packing.offsets[i] + blocks[i].bytes;
      const bool both_filled = blocks[i].bytes > 0 && blocks[j].bytes > 0;
      if (same_time && same_bytes && both_filled) {
        return "blocks " + std::to_string(j) + " and " + std::to_string(i);
      }
    }
  }
  return "";
}

void expect_sound(std::span<const Block> blocks, const Packing& packing) {
  EXPECT_EQ(overlap(blocks, packing), "");
  const auto by_step = bytes_by_step(blocks, steps_of(blocks));
  EXPECT_GE(packing.bytes, std::ranges::max(by_step));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_GE(packing.offsets[i], 0);
    if (blocks[i].bytes == 0) continue;
    EXPECT_LE(packing.offsets[i] + blocks[i].bytes, packing.bytes);
  }
}

std::vector<Block> random_blocks(std::mt19937_64& random, std::size_t count, std::size_t longest) {
  std::vector<Block> blocks(count);
  for (Block& block : blocks) {
    block.bytes = static_cast<std::int64_t>(random() % 20) * 64;
    block.first = random() % count;
    block.last = block.first + random() % longest;
  }
  return blocks;
}

TEST(Arena, BytesByStepAddWhatIsAlive) {
  const std::vector<Block> blocks = {{100, 0, 1}, {10, 1, 2}, {1, 2, 2}};
  EXPECT_EQ(bytes_by_step(blocks, 4), (std::vector<std::int64_t>{100, 100 + 10, 10 + 1, 0}));
}

TEST(Arena, NothingNeedsNothing) {
  EXPECT_EQ(packed({}).bytes, 0);
  EXPECT_EQ(packed({{0, 0, 5}}).bytes, 0);
}

TEST(Arena, AChainAlternatesBetweenTwoPlaces) {
  const std::vector<Block> blocks = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}};
  const Packing packing = packed(blocks);
  expect_sound(blocks, packing);
  EXPECT_EQ(packing.bytes, 64 + 64);
}

TEST(Arena, TheEndGrowsByWhatIsMissingOnly) {
  // 100 ends before 150 begins, and 10 lies below both: 10 + 150, not 10 + 100 + 150.
  const std::vector<Block> blocks = {{10, 0, 9}, {100, 1, 1}, {150, 2, 3}};
  const Packing packing = pack_by_time(blocks);
  expect_sound(blocks, packing);
  EXPECT_EQ(packing.bytes, 10 + 150);
}

TEST(Arena, AChainOfAnySizesFilledFromBothEndsTakesItsLargestPair) {
  std::mt19937_64 random(1);
  std::vector<Block> blocks(1000);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = {static_cast<std::int64_t>(64 * (1 + random() % 1000)), i, i + 1};
  }
  const auto by_step = bytes_by_step(blocks, blocks.size() + 1);
  const Packing packing = pack_by_time(blocks, std::ranges::max(by_step));
  expect_sound(blocks, packing);
  EXPECT_EQ(packing.bytes, std::ranges::max(by_step));
}

TEST(Arena, AnOrderIsFoundWhereFirstComeFirstServedWastes) {
  // By time, 30 and 10 come first; 40 finds a hole of only 30 and lies on top of both.
  // Placed first, 40 lies at the bottom and 10 above it: the busiest step's 10 + 40.
  const std::vector<Block> blocks = {{30, 0, 0}, {10, 0, 2}, {40, 1, 2}};
  const Packing packing = packed(blocks);
  expect_sound(blocks, packing);
  EXPECT_EQ(pack_by_time(blocks).bytes, 30 + 10 + 40);
  EXPECT_EQ(packing.bytes, 10 + 40);
}

TEST(Arena, TouchingBlocksOfTheSameStepStayApart) {
  // An op reads the first and writes the second at step 1.
  const std::vector<Block> blocks = {{64, 0, 1}, {64, 1, 1}};
  const Packing packing = packed(blocks);
  EXPECT_NE(packing.offsets[0], packing.offsets[1]);
}

TEST(Arena, ConflictsListEveryPairOnBothSides) {
  const std::vector<Block> blocks = {{1, 0, 2}, {1, 1, 1}, {1, 2, 3}, {0, 0, 9}};
  const Conflicts conflicts(blocks);
  EXPECT_EQ(Conflicts::count(blocks), 2);
  EXPECT_EQ(conflicts.of(0).size(), 2u);
  EXPECT_EQ(conflicts.of(1).size(), 1u);
  EXPECT_EQ(conflicts.of(2)[0], 0u);
  EXPECT_TRUE(conflicts.of(3).empty());
}

TEST(Arena, RandomBlocksNeverOverlapWithAnyAlgorithm) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto blocks = random_blocks(random, 1 + random() % 60, 1 + random() % 30);
    expect_sound(blocks, pack_by_time(blocks));
    expect_sound(blocks, pack_by_time(blocks, 640));
    expect_sound(blocks, packed(blocks));
    std::vector<std::uint32_t> order(blocks.size());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    expect_sound(blocks, pack_in_order(blocks, Conflicts(blocks), order));
    if (HasFailure()) break;
  }
}

TEST(Arena, RandomBlocksComeNearTheBound) {
  double worst = 1.0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const auto blocks = random_blocks(random, 100, 10);
    const double bound =
        static_cast<double>(std::ranges::max(bytes_by_step(blocks, steps_of(blocks))));
    worst = std::max(worst, static_cast<double>(packed(blocks).bytes) / bound);
  }
  EXPECT_LE(worst, 1.10);
}

TEST(Arena, AHundredThousandLongLivedBlocksArePackedByTimeAlone) {
  // Every pair conflicts: 5·10⁹ pairs must not be listed.
  std::vector<Block> blocks(100'000);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = {64, i / 2, 100'000 + i % 7};
  EXPECT_EQ(packed(blocks).bytes, 64 * 100'000);
}

}  // namespace
}  // namespace assay
