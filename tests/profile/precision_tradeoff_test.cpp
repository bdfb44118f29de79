#include "assay/precision_tradeoff.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

TEST(PrecisionTradeoff, AveragesByPrecisionWithTheFastestFirst) {
  const auto table = precision_tradeoff_table({
      {"fp32", 0.90, 4.0, 2.0, 8.0, true, ""},
      {"fp32", 0.80, 6.0, 1.0, 4.0, false, ""},
      {"int8", 0.85, 1.0, 0.5, 2.0, true, ""},
  });
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].precision, "int8");
  EXPECT_EQ(table[0].accepted_ratio, 1.0);
  EXPECT_EQ(table[1].precision, "fp32");
  EXPECT_EQ(table[1].accuracy_mean, (0.90 + 0.80) / 2);
  EXPECT_EQ(table[1].latency_ms_mean, (4.0 + 6.0) / 2);
  EXPECT_EQ(table[1].memory_mb_mean, (2.0 + 1.0) / 2);
  EXPECT_EQ(table[1].energy_proxy_j_mean, (8.0 + 4.0) / 2);
  EXPECT_EQ(table[1].accepted_ratio, 1.0 / 2);
}

TEST(PrecisionTradeoff, CountsFailedRowsInTheRatioOnly) {
  const auto table = precision_tradeoff_table({
      {"fp32", 0.90, 4.0, 2.0, 8.0, true, ""},
      {"fp32", 0.10, 99.0, 9.0, 9.0, false, "out of memory"},
      {.precision = "fp32"},
      {.precision = "fp32", .latency_ms = std::numeric_limits<double>::quiet_NaN()},
  });
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].accuracy_mean, 0.90);
  EXPECT_EQ(table[0].latency_ms_mean, 4.0);
  EXPECT_EQ(table[0].accepted_ratio, 1.0 / 4);
}

TEST(PrecisionTradeoff, KeepsAPrecisionThatOnlyFailedLastAndWithoutMeans) {
  const auto table = precision_tradeoff_table({
      {.precision = "bf16", .error = "not supported here"},
      {"fp32", 0.90, 4.0, 2.0, 8.0, true, ""},
  });
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[1].precision, "bf16");
  EXPECT_FALSE(table[1].accuracy_mean || table[1].latency_ms_mean || table[1].memory_mb_mean ||
               table[1].energy_proxy_j_mean);
  EXPECT_EQ(table[1].accepted_ratio, 0);
  EXPECT_TRUE(precision_tradeoff_table({}).empty());
}

}  // namespace
}  // namespace assay
