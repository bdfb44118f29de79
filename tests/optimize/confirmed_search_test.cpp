#include "assay/confirmed_search.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

OptimizeTrial timed(const VariantRecipe& recipe, double latency_ms, double target_ms) {
  OptimizeTrial trial{.recipe = recipe, .meets_target = latency_ms <= target_ms};
  trial.cost = VariantCost{.memory_mb = 1};
  trial.cost->latency.median_ms = latency_ms;
  return trial;
}

// An original of 100 ms, and versions pruned by p that take 100·(1 - p) ms in the search and
// `slower` times that in fresh processes. A search finds the smallest level that meets the target
// by the margin.
class MadeUpSteps : public ConfirmationSteps {
 public:
  explicit MadeUpSteps(double slower) : slower_(slower) {}

  OptimizeResult search(const OptimizeGoal& goal) override {
    margins.push_back(goal.margin);
    OptimizeResult result{.original = timed({}, 100, *goal.target_ms)};
    for (int step = 1; step <= 9; ++step) {
      const double level = step / 10.0;
      result.trail.push_back(timed({level}, 100 * (1 - level), *goal.target_ms));
      result.chosen = result.trail.size() - 1;
      result.met = 100 * (1 - level) <= goal.margin * *goal.target_ms;
      if (result.met) break;
    }
    result.interrupted = is_interrupted;
    return result;
  }

  CheckedVersion check(const OptimizeResult& result) override {
    ++checks;
    if (is_interrupted) return {.interrupted = true};
    const double latency_ms = slower_ * result.best().cost->latency.median_ms;
    Comparison seen;
    seen.ratio = latency_ms / 100;
    seen.median_a = 100;
    seen.median_b = latency_ms;
    return {seen};
  }

  std::vector<double> margins;
  int checks = 0;
  bool is_interrupted = false;

 private:
  double slower_ = 1;
};

ConfirmedVersion confirmed(MadeUpSteps& steps, double target_ms) {
  return confirmed_search({.goal = {.target_ms = target_ms}}, timed({}, 100, target_ms), steps);
}

TEST(ConfirmedSearch, AVersionThatIsConfirmedEndsIt) {
  MadeUpSteps steps(1);
  const ConfirmedVersion found = confirmed(steps, 55);
  EXPECT_TRUE(found.met);
  EXPECT_EQ(found.result.best().recipe, VariantRecipe{0.5});  // 50 ≤ 0.98 · 55
  EXPECT_EQ(steps.margins, (std::vector<double>{0.98}));
  EXPECT_TRUE(found.unconfirmed.empty());
}

TEST(ConfirmedSearch, AVersionThatMissesTheTargetMakesTheNextSearchStricter) {
  MadeUpSteps steps(1.2);
  const ConfirmedVersion found = confirmed(steps, 55);
  // 0.5 takes 60 ms in fresh processes, 1.2 as much as thought: 40 ≤ 0.98 / 1.2 · 55, and 48 ≤ 55.
  EXPECT_TRUE(found.met);
  EXPECT_EQ(found.result.best().recipe, VariantRecipe{0.6});
  EXPECT_EQ(found.round, 1u);
  EXPECT_EQ(found.unconfirmed, (std::vector<VariantRecipe>{{0.5}}));
  ASSERT_EQ(steps.margins.size(), 2u);
  EXPECT_NEAR(steps.margins[1], 0.98 / 1.2, 1e-12);
  EXPECT_EQ(found.goal.margin, steps.margins[1]);
}

TEST(ConfirmedSearch, TheRatioCountsForAShareOfTheOriginal) {
  MadeUpSteps steps(1.05);
  const ConfirmedVersion found = confirmed_search({.goal = {.target_ms = 52}, .target_share = 0.52},
                                                  timed({}, 100, 52), steps);
  EXPECT_EQ(found.unconfirmed, (std::vector<VariantRecipe>{{0.5}}));  // 0.525 of the original
  EXPECT_EQ(found.result.best().recipe, VariantRecipe{0.6});
}

TEST(ConfirmedSearch, TheFastestIsTakenWhereNoneIsConfirmed) {
  MadeUpSteps steps(10);
  const ConfirmedVersion found = confirmed(steps, 55);
  EXPECT_FALSE(found.met);
  EXPECT_EQ(found.result.best().recipe, VariantRecipe{0.9});  // 100 ms; 0.5 takes 500
  EXPECT_EQ(steps.checks, 2);  // the second search comes nearest with 0.9, and is not fine itself
}

TEST(ConfirmedSearch, AnInterruptedSearchIsTheLast) {
  MadeUpSteps steps(1.2);
  steps.is_interrupted = true;
  const ConfirmedVersion found = confirmed(steps, 55);
  EXPECT_TRUE(found.result.interrupted);
  EXPECT_FALSE(found.comparison);
  EXPECT_EQ(steps.checks, 1);  // so that its version is written
}

TEST(ConfirmedSearch, APredictionNeedsNoMargin) {
  MadeUpSteps steps(3);
  const ConfirmedVersion found = confirmed_search(
      {.goal = {.target_ms = 50}, .is_for_device = true}, timed({}, 100, 50), steps);
  EXPECT_TRUE(found.met);  // by the search, whatever this machine takes
  EXPECT_EQ(steps.margins, (std::vector<double>{1}));
}

}  // namespace
}  // namespace assay
