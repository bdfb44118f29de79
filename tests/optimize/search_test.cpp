#include "optimize/search.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::optimize {
namespace {

// A model of 100 ms: pruning by p takes the share p of it, half precision halves it, int8 quarters
// it, and low rank with the share s takes s of it. Pruning loses 100·p points, half precision 1,
// int8 2, low rank 20·(1 - s). The target is in ms.
class MadeUpModel : public Tries {
 public:
  explicit MadeUpModel(double target_ms, double max_loss = 100)
      : target_ms_(target_ms), max_loss_(max_loss) {}

  Attempt costed(const VariantRecipe& recipe) override {
    tried.push_back(recipe);
    if (recipe.precision == failing) return {};
    const double rank = recipe.low_rank > 0 ? recipe.low_rank : 1;
    const double latency_ms = 100 * rank * (1 - recipe.prune) / speed_up(recipe.precision);
    return {.is_made = true, .excess = latency_ms / target_ms_, .latency_ms = latency_ms};
  }
  Attempt judged(const VariantRecipe& recipe) override {
    Attempt attempt = costed(recipe);
    const double rank = recipe.low_rank > 0 ? recipe.low_rank : 1;
    const double lost = 100 * recipe.prune + points(recipe.precision) + 20 * (1 - rank);
    attempt.is_within_loss = lost <= max_loss_;
    return attempt;
  }

  std::vector<VariantRecipe> tried;
  std::optional<VariantPrecision> failing;

 private:
  static double speed_up(VariantPrecision precision) {
    if (precision == VariantPrecision::AsStored) return 1;
    return precision == VariantPrecision::Int8 ? 4 : 2;
  }
  static double points(VariantPrecision precision) {
    if (precision == VariantPrecision::AsStored) return 0;
    return precision == VariantPrecision::Int8 ? 2 : 1;
  }

  double target_ms_ = 0;
  double max_loss_ = 0;
};

SearchSpace three_precisions() {
  return {.precisions = {VariantPrecision::AsStored, VariantPrecision::BFloat16,
                         VariantPrecision::Int8}};
}

TEST(Search, TakesTheFirstPrecisionThatMeetsTheTarget) {
  MadeUpModel model(60);
  const auto found = smallest_change(three_precisions(), model);
  EXPECT_EQ(found, (VariantRecipe{0, VariantPrecision::BFloat16}));  // 50 ms
  EXPECT_EQ(model.tried.size(), 2);                                  // int8 was not needed
}

TEST(Search, PrunesTheFastestPrecisionAsLittleAsSuffices) {
  MadeUpModel model(15);
  // int8 takes 25 ms: 25·(1 - p) ≤ 15 from p = 0.4 on.
  EXPECT_EQ(smallest_change(three_precisions(), model),
            (VariantRecipe{0.4, VariantPrecision::Int8}));
}

TEST(Search, LeavesAPrecisionThatLosesTooMuch) {
  MadeUpModel model(45, 1.5);  // int8 loses 2 points
  // bf16 takes 50 ms: 50·(1 - p) ≤ 45 from p = 0.1 on, which loses 11 points.
  EXPECT_EQ(smallest_change(three_precisions(), model), std::nullopt);
  MadeUpModel tolerant(45, 11);
  EXPECT_EQ(smallest_change(three_precisions(), tolerant),
            (VariantRecipe{0, VariantPrecision::Int8}));
}

TEST(Search, FindsNothingForAnImpossibleTarget) {
  MadeUpModel model(0.1);  // the smallest is 25·(1 - 0.9) = 2.5 ms
  EXPECT_EQ(smallest_change(three_precisions(), model), std::nullopt);
  EXPECT_EQ(model.tried.size(), 3 + 3);  // every precision, and the largest level with each
}

SearchSpace with_low_rank() {
  SearchSpace space = three_precisions();
  space.shares = {0.75, 0.5, 0.25};
  return space;
}

TEST(Search, WritesMatricesInLowRankBeforeItPrunes) {
  MadeUpModel model(15);
  // int8 takes 25 ms: 25·s ≤ 15 for s = 0.5.
  EXPECT_EQ(smallest_change(with_low_rank(), model),
            (VariantRecipe{0, VariantPrecision::Int8, 0.5}));
  for (const VariantRecipe& recipe : model.tried) EXPECT_EQ(recipe.prune, 0);
}

TEST(Search, PrunesWhereLowRankDoesNotSuffice) {
  MadeUpModel model(5);  // int8 takes 25·0.25 = 6.25 ms at the lowest rank, 25·(1 - 0.8) pruned
  EXPECT_EQ(smallest_change(with_low_rank(), model), (VariantRecipe{0.8, VariantPrecision::Int8}));
}

TEST(Search, WithoutATargetGoesAsLowInRankAsTheLossAllows) {
  MadeUpModel model(1, 13);
  // int8 loses 2 points, s = 0.5 another 10, and pruning by 0.05 would lose 5 more.
  EXPECT_EQ(fastest_version(with_low_rank(), model),
            (VariantRecipe{0, VariantPrecision::Int8, 0.5}));
}

TEST(Search, EveryVersionHasWhatTheBaseHas) {
  MadeUpModel model(15);
  SearchSpace space = three_precisions();
  space.base.tidy = true;
  EXPECT_EQ(smallest_change(space, model),
            (VariantRecipe{.prune = 0.4, .precision = VariantPrecision::Int8, .tidy = true}));
  for (const VariantRecipe& recipe : model.tried) EXPECT_TRUE(recipe.tidy);
}

TEST(Search, LevelsReadWell) {
  EXPECT_EQ(levels_up_to(0.2, 0.05), (std::vector<double>{0.05, 0.1, 0.15, 0.2}));
}

TEST(Search, KeepsToALevelThatIsFixed) {
  MadeUpModel model(26);
  SearchSpace space = three_precisions();
  space.level = 0.5;
  EXPECT_EQ(smallest_change(space, model), (VariantRecipe{0.5, VariantPrecision::BFloat16}));
  for (const VariantRecipe& recipe : model.tried) EXPECT_EQ(recipe.prune, 0.5);
}

TEST(Search, GoesOnAfterAVersionThatCannotBeMade) {
  MadeUpModel model(60);
  model.failing = VariantPrecision::BFloat16;
  EXPECT_EQ(smallest_change(three_precisions(), model), (VariantRecipe{0, VariantPrecision::Int8}));
}

TEST(Search, WithoutATargetTakesTheFastestWithinTheLoss) {
  MadeUpModel model(1, 32);
  // int8 loses 2 points, so 0.3 is the largest level that loses no more than 32.
  EXPECT_EQ(fastest_version(three_precisions(), model),
            (VariantRecipe{0.3, VariantPrecision::Int8}));
  MadeUpModel strict(1, 0.5);
  EXPECT_EQ(fastest_version(three_precisions(), strict), std::nullopt);
}

TEST(Search, TriesNoMoreVersionsThanItSays) {
  for (const double target : {90.0, 45.0, 20.0, 9.0, 3.0, 1.0}) {
    MadeUpModel model(target);
    smallest_change(with_low_rank(), model);
    std::vector<VariantRecipe> distinct;
    for (const VariantRecipe& recipe : model.tried) {
      if (std::ranges::count(distinct, recipe) == 0) distinct.push_back(recipe);
    }
    EXPECT_LE(distinct.size(), most_tries(with_low_rank()));
  }
}

}  // namespace
}  // namespace assay::optimize
