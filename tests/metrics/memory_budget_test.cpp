#include "assay/memory_budget.h"

#include <gtest/gtest.h>

#include "assay/layers.h"

namespace assay {
namespace {

TEST(ModelMemory, AddsUpEveryStoredTensor) {
  // 1024·512 weights and 512 biases of 4 bytes: 2.00 MB.
  EXPECT_DOUBLE_EQ(model_memory_mb(Linear(1024, 512)), (1024.0 * 512 + 512) * 4 / (1024 * 1024));
  EXPECT_DOUBLE_EQ(model_memory_mb(Relu()), 0.0);
}

TEST(ModelMemory, CountsStatisticsToo) {
  EXPECT_DOUBLE_EQ(model_memory_mb(BatchNorm2d(256)), 4.0 * 256 * 4 / (1024 * 1024));
}

TEST(MemoryViolations, NameBudgetsInTheShortestFormWithADecimal) {
  const std::vector<double> budgets = {1, 0.25, 2.5, 16};
  const auto violations = memory_violations(1.5, budgets);
  ASSERT_EQ(violations.size(), 4u);
  EXPECT_EQ(violations[0], (std::pair<std::string, bool>{"violates_1.0mb", true}));
  EXPECT_EQ(violations[1], (std::pair<std::string, bool>{"violates_0.25mb", true}));
  EXPECT_EQ(violations[2], (std::pair<std::string, bool>{"violates_2.5mb", false}));
  EXPECT_EQ(violations[3], (std::pair<std::string, bool>{"violates_16.0mb", false}));
}

TEST(MemoryViolations, ExactlyTheBudgetIsNoViolation) {
  const std::vector<double> budgets = {1.5};
  EXPECT_FALSE(memory_violations(1.5, budgets)[0].second);
}

}  // namespace
}  // namespace assay
