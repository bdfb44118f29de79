#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/sweep_report.h"
#include "base/text.h"
#include "report/fixed_sweep.h"
#include "report/golden.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

using ::testing::HasSubstr;

// The second seed's versions are two points better and 1 ms slower.
std::vector<SweepRun> two_seeds() {
  SweepRun first = fixed_sweep();
  SweepRun second = fixed_sweep();
  second.seed = 8;
  for (SweepRow& row : second.rows) {
    row.seed = 8;
    if (!row.metrics) continue;
    row.metrics->accuracy += 0.02;
    row.metrics->latency_ms += 1;
  }
  judge(second);
  return {first, second};
}

TEST(MultiSeed, JsonHasRunsAndAggregates) {
  const auto json = nlohmann::json::parse(multi_seed_json(two_seeds()));
  ASSERT_EQ(json["runs"].size(), 2u);
  EXPECT_EQ(json["runs"][1]["seed"], 8);
  EXPECT_EQ(json["runs"][0], nlohmann::json::parse(sweep_summary_json(two_seeds()[0])));
  ASSERT_EQ(json["aggregates"].size(), 6u);
  const auto& fp16 = json["aggregates"][1];
  EXPECT_EQ(fp16["precision"], "fp16");
  EXPECT_EQ(fp16["runs"], 2);
  EXPECT_NEAR(fp16["accuracy"]["mean"], 0.8825, 1e-12);  // of 0.8725 and 0.8925
  EXPECT_NEAR(fp16["accuracy"]["std"], 0.02 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(fp16["latency_ms"]["min"], 3);
  EXPECT_EQ(fp16["latency_ms"]["max"], 4);
  EXPECT_LT(fp16["latency_ms"]["ci95_low"], 3);
  EXPECT_GT(fp16["latency_ms"]["ci95_high"], 4);
  EXPECT_EQ(json["aggregates"][2]["recommended"], 2);  // int8, by both seeds
}

TEST(MultiSeed, AVersionThatAlwaysFailedHasNullFigures) {
  const auto json = nlohmann::json::parse(multi_seed_json(two_seeds()));
  EXPECT_EQ(json["aggregates"][4]["failed"], 2);
  EXPECT_TRUE(json["aggregates"][4]["accuracy"].is_null());
}

TEST(MultiSeed, OneSeedHasNoDeviation) {
  const auto json = nlohmann::json::parse(multi_seed_json({fixed_sweep()}));
  EXPECT_EQ(json["aggregates"][0]["accuracy"]["mean"], 0.875);
  EXPECT_TRUE(json["aggregates"][0]["accuracy"]["std"].is_null());
  EXPECT_TRUE(json["aggregates"][0]["accuracy"]["ci95_low"].is_null());
}

TEST(MultiSeed, CsvIsAsPinned) {
  const std::string text = multi_seed_csv(two_seeds());
  expect_golden("sweep_seeds.csv", text);
  EXPECT_THAT(text,
              HasSubstr("pruning_level,precision,batch_size,threads,machine,runs,failed,"
                        "accepted,recommended,accuracy_mean,accuracy_std,accuracy_min,"
                        "accuracy_max,accuracy_ci95_low,accuracy_ci95_high,latency_ms_mean,"));
}

TEST(MultiSeed, TableIsAsPinned) {
  const std::string text = multi_seed_table(two_seeds());
  expect_golden("sweep_seeds.txt", text);
  for (const std::string& line : split(text, '\n')) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(MultiSeed, NoRunsAreNoError) {
  EXPECT_NO_THROW(nlohmann::json::parse(multi_seed_json({})));
  EXPECT_NE(multi_seed_csv({}), "");
  EXPECT_NE(multi_seed_table({}), "");
}

}  // namespace
}  // namespace assay
