#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/sweep_report.h"
#include "base/text.h"
#include "report/fixed_sweep.h"
#include "report/golden.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void expect_within_80_columns(const std::string& text) {
  for (const std::string& line : split(text, '\n')) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(SweepTable, IsAsPinned) {
  expect_golden("sweep.txt", sweep_table(fixed_sweep()));
}

TEST(SweepTable, StaysWithin80Columns) {
  for (const int count : {0, 1, 12, 60, 500}) {
    SweepRun run = sweep_of(count);
    expect_within_80_columns(sweep_table(run));
    for (std::size_t i = 0; i < run.rows.size(); i += 2) run.rows[i].batch_size = 1024;
    expect_within_80_columns(sweep_table(run));
    for (std::size_t i = 0; i < run.rows.size(); i += 3) run.rows[i].threads = 128;
    expect_within_80_columns(sweep_table(run));
  }
}

TEST(SweepTable, OfManyRowsShowsTheFrontierAndTheBestAndCountsTheRest) {
  const SweepRun run = sweep_of(500);
  const std::string text = sweep_table(run);
  EXPECT_LT(split(text, '\n').size(), 60u);
  EXPECT_THAT(text, HasSubstr("more in sweep_results.csv"));
  EXPECT_THAT(text, HasSubstr("recommended"));
}

TEST(SweepTable, WithNothingToRecommendSaysSo) {
  SweepRun run = fixed_sweep();
  for (SweepRow& row : run.rows) row.accepted = false;
  judge(run);
  EXPECT_THAT(sweep_table(run), HasSubstr("nothing: no version is within the budget of 2 MB"));
  EXPECT_THAT(sweep_table({}), HasSubstr("nothing: "));
}

TEST(SweepTable, ShowsAFewFailuresAndCountsTheRest) {
  SweepRun run;
  for (int i = 0; i < 9; ++i) run.rows.push_back(failed_row(0.1 * i, "int8", "too bad", {}));
  run.missing = 3;
  judge(run);
  EXPECT_THAT(sweep_table(run), HasSubstr("… and 4 more in sweep_errors.csv"));
  EXPECT_THAT(sweep_table(run), HasSubstr("3 versions not measured yet"));
}

TEST(SweepTable, HasNoControlCharacters) {
  SweepRun run = fixed_sweep();
  run.config.model = "a\033[31mb";
  run.rows[4].error = "\033[2J";
  run.rows[1].precision = "fp\03316";
  run.warnings = {"\033"};
  judge(run);
  EXPECT_THAT(sweep_table(run), Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace assay
