#include "assay/study_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "assay/page.h"
#include "base/text.h"
#include "report/golden.h"
#include "report/picture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "\"</script><b>\n\x1b[31m,=1+1";

void set_made_up_facts(Study& study) {
  study.model = ModelSummary{.name = "tiny.onnx", .opset = 17, .inputs = {}, .outputs = {}};
  study.engine = "cpu";
  study.threads = 2;
  study.verdict = {"A first sentence.", "A second sentence."};
  study.warnings = {"a warning"};
}

// Every figure is made up, so that reports of it never change by themselves.
ModelScaling made_up_growth() {
  ModelScaling study;
  set_made_up_facts(study);
  study.parameter = "width";
  study.batch = 32;
  study.rows = {{64, 4160, 266240, 0.0025, 0.03, 106.5, "L1", Bound::Overhead, 46},
                {128, 16512, 1056768, 0.006, 0.1, 176.1, "L2", Bound::Compute, {}}};
  study.growth_factors = {4, 4, 2.4, 3.25, 1.65};
  study.exponents = {1.99, 1.99, 1.26, 1.7, {}};
  study.caches = {{"L1", 32768, 128}, {"L2", 1048576, {}}};
  study.limited_by = "compute";
  study.work_on = "Work on arithmetic.";
  return study;
}

DecodingComparison made_up_decoding() {
  DecodingComparison study;
  set_made_up_facts(study);
  study.tokens = 3;
  study.prompt = 4;
  study.rows = {{"without cache", 4, 200, 250, 9'870'000'000, 0.012, 0.02, 470, 0, {250, 251}},
                {"with cache", 40, 60, 25, 124'000'000, 0.007, {}, 470, 0.5, {25, 24}}};
  study.same_tokens = true;
  return study;
}

BatchSizeEffects made_up_batches() {
  BatchSizeEffects study;
  set_made_up_facts(study);
  study.max_mb = 1.5;
  study.rows = {{1, 0.004, 250'000, 0.25, 1'000'000, true},
                {8, 0.0075, 1'066'666, 1.75, 609'523, false}};
  study.sweet_spot = 1;
  study.best_batch = 1;
  study.most_per_mb = 1;
  return study;
}

OperationEfficiency made_up_operations() {
  OperationEfficiency study;
  set_made_up_facts(study);
  study.model.reset();
  study.rows = {
      {"matmul", 64, 0.005, 524288, 104.8, 46, 46, {}, "compute_bound", "algorithms"},
      {"element-wise", 64, 0.001, 4096, 4.1, 13, 2, 1.1, "overhead_bound", "parallelization"}};
  study.order = {"matmul", "element-wise"};
  study.most_efficient = "matmul";
  study.least_efficient = "element-wise";
  study.priority = {"element-wise", "matmul"};
  return study;
}

ProfilingOverhead made_up_overhead() {
  ProfilingOverhead study;
  set_made_up_facts(study);
  study.rows = {{"bare", 0.014, 0, 1, "low", "production"},
                {"counters", 0.034, 0.02, 2.4, "moderate", "why layers are slow"}};
  study.overhead_factor = 1.02;
  study.overhead_class = "low";
  return study;
}

PrecisionComparison made_up_precisions() {
  PrecisionComparison study;
  set_made_up_facts(study);
  study.rows = {{"fp32", 28.6, 1, 44.6, 93, 126, {}, {}, 0},
                {"int8", 11.8, 2.42, 11.2, 15.4, 306, 0.0091, 1.0, 16}};
  study.fastest = "int8";
  study.smallest = "int8";
  return study;
}

ThreadScaling made_up_threads() {
  ThreadScaling study;
  set_made_up_facts(study);
  study.rows = {{1, 40, 25, 1, 1}, {2, 22, 45.5, 1.82, 0.91}};
  study.ends_at = 2;
  study.serial_share = 0.1;
  return study;
}

std::vector<StudyReport> all_reports() {
  return {study_report(made_up_growth()),     study_report(made_up_batches()),
          study_report(made_up_operations()), study_report(made_up_overhead()),
          study_report(made_up_decoding()),   study_report(made_up_precisions()),
          study_report(made_up_threads())};
}

TEST(StudyReport, TablesArePinned) {
  std::string text;
  for (const StudyReport& report : all_reports()) text += study_table(report) + "\n";
  expect_golden("studies.txt", text);
}

TEST(StudyReport, NoLineOfATableIsLongerThan80Columns) {
  for (const StudyReport& report : all_reports()) {
    std::istringstream text(study_table(report));
    for (std::string line; std::getline(text, line);) {
      EXPECT_LE(display_width(line), 80u) << line;
    }
  }
}

TEST(StudyReport, JsonAndCsvArePinned) {
  expect_golden("study.json", study_json(study_report(made_up_growth())));
  expect_golden("study.csv", study_csv(study_report(made_up_growth())));
}

TEST(StudyReport, EveryJsonHasTheSharedShape) {
  for (const StudyReport& report : all_reports()) {
    const auto json = nlohmann::json::parse(study_json(report));
    EXPECT_EQ(json["schema"], "assay.study/1");
    EXPECT_EQ(json["study"], report.study);
    EXPECT_EQ(json["verdict"].size(), 2u);
    ASSERT_FALSE(json["rows"].empty());
    for (const auto& column : json["columns"]) {
      for (const auto& row : json["rows"]) EXPECT_TRUE(row.contains(column["key"])) << row;
    }
    ASSERT_FALSE(json["charts"].empty());
    for (const auto& chart : json["charts"]) {
      const bool is_bar = chart["kind"] == "bar";
      EXPECT_TRUE(is_bar || chart["kind"] == "line");
      EXPECT_TRUE(chart["x"]["log"].is_boolean());
      for (const auto& series : chart["series"]) {
        for (const auto& point : series["points"]) {
          ASSERT_EQ(point.size(), 2u);
          EXPECT_EQ(point[0].is_string(), is_bar);
          EXPECT_TRUE(point[1].is_number());
        }
      }
    }
  }
}

TEST(StudyReport, MissingFiguresAreNull) {
  const auto json = nlohmann::json::parse(study_json(study_report(made_up_growth())));
  EXPECT_TRUE(json["rows"][1]["percent_of_ceiling"].is_null());
  EXPECT_TRUE(json["caches"][1]["leaves_at"].is_null());
  EXPECT_TRUE(json["machine"].is_null());
}

TEST(StudyReport, PicturesAreWhole) {
  for (const StudyReport& report : all_reports()) {
    expect_whole_picture(study_png(report));
    EXPECT_THAT(study_svg(report), HasSubstr("<svg"));
  }
}

TEST(StudyReport, ALineChartSurvivesOddNumbers) {
  ModelScaling study = made_up_growth();
  study.rows[0].latency_ms = 0;
  study.rows[1].latency_ms = std::numeric_limits<double>::infinity();
  study.rows[0].gflops_per_second = std::numeric_limits<double>::quiet_NaN();
  expect_whole_picture(study_png(study_report(study)));
}

TEST(StudyReport, HostileNamesAreText) {
  ModelScaling study = made_up_growth();
  study.model->name = kHostile;
  const StudyReport report = study_report(study);
  EXPECT_EQ(nlohmann::json::parse(study_json(report))["model"]["name"], kHostile);
  EXPECT_THAT(study_table(report), Not(HasSubstr("\x1b")));
  EXPECT_THAT(study_svg(report), Not(HasSubstr("<b>")));
  EXPECT_THAT(page_html({.documents = {{"study.json", study_json(report)}}}),
              Not(HasSubstr("</script><b>")));
}

}  // namespace
}  // namespace assay
