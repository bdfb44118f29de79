#include "assay/profile_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "assay/error.h"
#include "assay/run_report.h"
#include "fixed_profile.h"
#include "golden.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

TEST(ProfileReport, TableIsAsPinned) {
  expect_golden("profile.txt", profile_table(fixed_profile()));
}
TEST(ProfileReport, ExplainedTableIsAsPinned) {
  expect_golden("profile_explained.txt", profile_table(fixed_profile(), {.explain = true}));
}
TEST(ProfileReport, SeveralProfilesAreAsPinned) {
  std::vector<Profile> profiles(2, fixed_profile());
  profiles[1].program.cpu.threads = 4;
  profiles[1].throughput_sps = 1500;
  expect_golden("profiles.txt", profiles_table(profiles));
  expect_golden("profiles.csv", profiles_csv(profiles));
  const auto json = nlohmann::json::parse(profiles_json(profiles));
  EXPECT_EQ(json["results"].size(), 2u);
  EXPECT_EQ(json["results"][0]["schema"], "assay.profile/1");
}
TEST(ProfileReport, TableByStepsIsAsPinned) {
  expect_golden("profile_steps.txt", profile_table(fixed_profile(), {.group_by = GroupBy::Steps}));
}
TEST(ProfileReport, TableByOpsIsAsPinned) {
  expect_golden("profile_ops.txt",
                profile_table(fixed_profile(), {.group_by = GroupBy::Ops, .top = 1}));
}
TEST(ProfileReport, JsonIsAsPinned) {
  expect_golden("profile.json", profile_json(fixed_profile(), {.group_by = GroupBy::Ops}));
}
TEST(ProfileReport, CsvIsAsPinned) {
  expect_golden("profile.csv", profile_csv(fixed_profile()));
}
TEST(ProfileReport, TraceIsAsPinned) {
  expect_golden("profile_trace.json", profile_trace(fixed_profile()));
}

TEST(ProfileReport, RowsOfEveryGroupingSumToTheMedianRun) {
  for (const GroupBy group_by : {GroupBy::Layers, GroupBy::Steps, GroupBy::Ops}) {
    std::istringstream lines(profile_csv(fixed_profile(), {.group_by = group_by}));
    std::string line;
    std::getline(lines, line);
    double sum = 0;
    while (std::getline(lines, line)) {
      std::istringstream cells(line);
      std::string cell;
      for (int i = 0; i < 12; ++i) std::getline(cells, cell, ',');  // time_ms is the twelfth
      if (!cell.empty()) sum += std::stod(cell);
    }
    EXPECT_NEAR(sum, 2.0, 1e-6);
  }
}

TEST(ProfileReport, SaysThatItWasInterrupted) {
  Profile profile = fixed_profile();
  profile.latency.cancelled = true;
  EXPECT_NE(profile_table(profile).find("interrupted"), std::string::npos);
  EXPECT_NE(profile_json(profile).find("\"interrupted\":true"), std::string::npos);
}

TEST(ProfileReport, EveryLineFitsEightyColumns) {
  Profile profile = fixed_profile();
  profile.model.name = std::string(200, 'm');
  profile.layers[0].cost.name = std::string(300, 'n');
  profile.steps[0].info.name = std::string(300, 'n');
  profile.advice[0].layers = {std::string(300, 'n'), "b", "c", "d", "e"};
  for (const GroupBy group_by : {GroupBy::Layers, GroupBy::Steps, GroupBy::Ops}) {
    std::istringstream lines(profile_table(profile, {.group_by = group_by}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
  }
}

TEST(ProfileReport, NamesThreeLayersOfAnAdviceAndFiveAdvices) {
  Profile profile = fixed_profile();
  profile.advice.assign(6, {.rule = "rule", .layers = {"a", "b", "c", "d", "e"}, .saving_ms = 1});
  profile.advice.back().rule = "sixth";
  const std::string table = profile_table(profile, {.explain = true});
  EXPECT_NE(table.find("1.000 ms  rule: a, b, c and 2 more."), std::string::npos);
  EXPECT_EQ(table.find("sixth"), std::string::npos);
  profile.advice.clear();
  EXPECT_EQ(profile_table(profile).find("Potential savings"), std::string::npos);
}

TEST(ProfileReport, FitsAScreenOfFortyLinesWithItsWarnings) {
  Profile profile = fixed_profile();
  for (int i = 0; i < 60; ++i) {
    ProfileLayer layer = profile.layers[0];
    layer.cost.name = "/features/features." + std::to_string(i) + "/Conv";
    profile.layers.push_back(layer);
  }
  profile.model.inputs.assign(9, profile.model.inputs[0]);
  profile.advice.assign(9, profile.advice[0]);
  profile.warnings.assign(4, "warning");
  const std::string table = profile_table(profile);
  EXPECT_LE(std::ranges::count(table, '\n') + 4, 40);
  EXPECT_NE(table.find("features.2 "), std::string::npos);
  EXPECT_EQ(table.find("/features"), std::string::npos);
  EXPECT_GT(std::ranges::count(profile_table(profile, {.top = 50}), '\n'), 60);
}

TEST(ProfileReport, ColumnsAreChosenByTheirHeadings) {
  const std::string table =
      profile_table(fixed_profile(), {.sort = "GFLOP/S", .columns = {"Layer", "time ms", "macs"}});
  EXPECT_NE(table.find("layer            time ms   MACs\n"), std::string::npos) << table;
  EXPECT_THROW(check_profile_columns({.columns = {"colour"}}), Error);
}

TEST(ProfileReport, SortsByAnyColumnAndNamesTheNearestToAWrongOne) {
  for (const auto& column : profile_columns()) {
    EXPECT_NO_THROW(profile_csv(fixed_profile(), {.sort = column})) << column;
  }
  try {
    profile_csv(fixed_profile(), {.sort = "tim_ms"});
    FAIL() << "no such column, and no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'time ms'"), std::string::npos);
  }
}

TEST(ProfileReport, NamesThatAreNotTextDoNoHarm) {
  Profile profile = fixed_profile();
  profile.layers[0].cost.name = "evil\n\x1b]0;owned\x07\xc3";
  profile.steps[0].info.name = profile.layers[0].cost.name;
  profile.steps[1].info.op = "\x1b[31m";
  profile.warnings = {"\xff"};
  profile.advice[0].layers = {profile.layers[0].cost.name};
  EXPECT_EQ(profile_table(profile).find('\x1b'), std::string::npos);
  EXPECT_EQ(profile_table(profile, {.group_by = GroupBy::Steps}).find('\x1b'), std::string::npos);
  EXPECT_EQ(profile_csv(profile).find('\x1b'), std::string::npos);
  EXPECT_EQ(profile_json(profile).find('\x1b'), std::string::npos);
  EXPECT_EQ(profile_trace(profile).find('\x1b'), std::string::npos);
}

TEST(ProfileTrace, StepsLieWithinTheirRunsOneAfterTheOther) {
  const auto trace = nlohmann::json::parse(profile_trace(fixed_profile()));
  double run_start = 0;
  double run_end = 0;
  double at = 0;
  int steps = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double start = event["ts"].get<double>();
    const double end = start + event["dur"].get<double>();
    if (event["cat"] == "run") {
      run_start = at = start;
      run_end = end;
      continue;
    }
    ++steps;
    EXPECT_GE(start, run_start);
    EXPECT_GE(start, at);
    EXPECT_LE(end, run_end + 1e-6);
    at = end;
  }
  EXPECT_EQ(steps, 2 * 2);
}

RunReport fixed_run() {
  RunReport report;
  report.result.model = fixed_profile().model;
  report.result.program = {.engine = "reference", .cpu = {.threads = 1}};
  report.result.compile_ms = 12.5;
  report.result.run_ms = 0.25;
  const Tensor good = Tensor::of_float({2, 2}, {1, 2, 3, 4});
  report.result.outputs = {{"y", good, summarize_tensor(good)},
                           {"words", Tensor({1}, {std::string("one")}), {}}};
  report.checks = {
      {"y", "y.npy", tensor_difference(good, Tensor::of_float({2, 2}, {1, 2, 3, 5}))},
      {"words", "words.npy", tensor_difference(good, Tensor::of_float({4}, {1, 2, 3, 4}))}};
  report.files = {"out/y.npy", "out/words.npy"};
  return report;
}

TEST(RunReport, TableIsAsPinned) {
  expect_golden("run.txt", run_table(fixed_run()));
}
TEST(RunReport, JsonIsAsPinned) {
  expect_golden("run.json", run_json(fixed_run()));
}

TEST(Figures, DurationsHaveTheUnitThatSuitsThem) {
  EXPECT_EQ(duration_text(0.0123), "12.30 µs");
  EXPECT_EQ(duration_text(1.5), "1.500 ms");
  EXPECT_EQ(duration_text(123.456), "123.5 ms");
  EXPECT_EQ(duration_text(12345), "12.35 s");
  EXPECT_EQ(rate_text(std::nullopt), "-");
  EXPECT_EQ(rate_text(0.123), "0.12");
  EXPECT_EQ(rate_text(12345.6), "12,346");
}

TEST(Wrapping, KeepsANumberAndItsUnitTogether) {
  const std::string text = wrapped(std::string(75, 'x') + " 12 ms, and more");
  EXPECT_EQ(text, std::string(75, 'x') + "\n12 ms, and more\n");
}

}  // namespace
}  // namespace assay
