#include "optimize/search_space.h"

#include <gtest/gtest.h>

#include "assay/zoo.h"

namespace assay::optimize {
namespace {

// 16 and 32 channels in multiples of 4 and 8: three widths fewer than all, for each.
TEST(SearchSpace, LevelsThatCutTheSameWidthsAreTriedOnce) {
  OptimizeOptions options;
  options.pruning = {.round_to = 16, .least_widths = 4};
  const auto levels = distinct_levels(zoo_model("small_cnn"), options);
  // (keep of 16, keep of 32), nearest multiples of 4 and 8, ties up: by 0.15 (14 → 16, 27 → 24),
  // 0.2 (13 → 12, 26 → 24), 0.4 (10 → 12, 19 → 16), 0.45 (9 → 8, 18 → 16), 0.65 (6 → 8, 11 → 8),
  // 0.7 (5 → 4, 10 → 8).
  EXPECT_EQ(levels, (std::vector<double>{0.15, 0.2, 0.4, 0.45, 0.65, 0.7}));
  options.measures_widths = true;
  EXPECT_EQ(distinct_levels(zoo_model("small_cnn"), options).size(), 18u);
}

TEST(SearchSpace, LowRankIsForModelsOfLargeMatrices) {
  EXPECT_TRUE(is_mostly_large_matrices(zoo_model("mlp")));
  EXPECT_TRUE(is_mostly_large_matrices(zoo_model("encoder")));
  EXPECT_FALSE(is_mostly_large_matrices(zoo_model("resnet18")));
  EXPECT_FALSE(search_space(zoo_model("mlp"), {}, {}, false).shares.empty());
  EXPECT_TRUE(search_space(zoo_model("mlp"), {.low_rank = 0}, {}, false).shares.empty());
}

}  // namespace
}  // namespace assay::optimize
