#include "optimize/finetune.h"

#include <gtest/gtest.h>

#include "assay/zoo.h"

namespace assay::optimize {
namespace {

// From random weights, a higher rate learns more in a few steps than a lower one.
TEST(Finetune, AVersionThatKnowsNothingGetsAHighRate) {
  const Dataset data = load_dataset("synthetic", {.size = 4096});
  OptimizeOptions options;
  options.program.cpu.threads = 1;
  EXPECT_GT(rate_by_trial(zoo_model("mlp"), data, options, nullptr), 0.0005);
}

TEST(Finetune, TooFewSamplesForTrialsGiveTheUsualRate) {
  const Dataset data = load_dataset("synthetic", {.size = 128});
  EXPECT_EQ(rate_by_trial(zoo_model("mlp"), data, {}, nullptr), 0.0005);
}

}  // namespace
}  // namespace assay::optimize
