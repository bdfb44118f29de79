#include "assay/count_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/zoo.h"
#include "assay/zoo_report.h"
#include "golden.h"
#include "report/count_columns.h"
#include "report/csv.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

CountResult small_cnn() {
  return count_model(zoo_model("small_cnn"), "zoo:small_cnn");
}

TEST(CountReport, TableIsAsPinned) {
  expect_golden("small_cnn.txt", count_table(small_cnn()));
}
TEST(CountReport, JsonIsAsPinned) {
  expect_golden("small_cnn.json", count_json(small_cnn()));
}
TEST(CountReport, CsvIsAsPinned) {
  expect_golden("small_cnn.csv", count_csv(small_cnn()));
}

TEST(CountReport, LayersAreAddedUpByModuleAndByOp) {
  const CountTableOptions by_op{.rows = CountRows::Ops};
  expect_golden("small_cnn_ops.txt", count_table(small_cnn(), by_op));
  expect_golden("small_cnn_ops.csv", count_csv(small_cnn(), by_op));
  EXPECT_EQ(module_of("/features/features.4/block/block.0/block.0.0/Conv", 2), "features.4");
  EXPECT_EQ(module_of("layer1.0.conv1", 1), "layer1");
  EXPECT_EQ(module_of("layer1.0.conv1", 9), "layer1.0");
  EXPECT_EQ(module_of("/Flatten", 1), "/Flatten");
  EXPECT_EQ(module_of("conv1", 3), "conv1");
}

TEST(CountReport, SeveralModelsAreRowsOfOneTable) {
  const std::vector<CountResult> results = {small_cnn(), small_cnn()};
  expect_golden("counts.txt", counts_table(results));
  expect_golden("counts.csv", counts_csv(results));
  EXPECT_EQ(nlohmann::json::parse(counts_json(results))["results"].size(), 2u);
}

TEST(CountReport, MarkdownHasTablesAndCodeBlocks) {
  const Layout layout{.markdown = true};
  CountTableOptions options{.columns = {"layer", "macs"}};
  options.layout = layout;
  expect_golden("small_cnn.md", finished(count_table(small_cnn(), options), layout));
}

TEST(CountReport, TopShowsTheMostExpensiveAndTheRest) {
  expect_golden("small_cnn_top2.txt", count_table(small_cnn(), {.top = 2}));
}

TEST(CountReport, EveryTableFitsEightyColumns) {
  for (const auto& entry : zoo_entries()) {
    const auto result = count_model(zoo_model(entry.name), std::string(200, 'm') + entry.name);
    std::istringstream lines(count_table(result));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), 80u) << entry.name << ": " << line;
    }
  }
}

TEST(CountReport, SortsByAnyColumnAndNamesTheNearestToAWrongOne) {
  for (const auto& column : count_columns()) {
    EXPECT_NO_THROW(count_csv(small_cnn(), {.sort = column})) << column;
  }
  try {
    count_csv(small_cnn(), {.sort = "mac"});
    FAIL() << "no such column, and no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'MACs'"), std::string::npos);
  }
}

TEST(CountReport, AnUnknownCostIsNullAndNamed) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  builder.output(builder.node("Frobnicate", "odd", {x}), "y");
  const auto result = count_model(builder.finish(), "odd");
  expect_golden("unknown_op.txt", count_table(result));
  expect_golden("unknown_op.json", count_json(result));
}

TEST(CountReport, NamesThatAreNotTextDoNoHarm) {
  GraphBuilder builder("g");
  const ValueId x = builder.input("x\x1b[31m\xff", DataType::Float32, Shape{2});
  builder.output(builder.node("Relu", "evil\n\x1b]0;owned\x07\xc3", {x}), "y");
  const auto result = count_model(builder.finish(), "name\x1b");
  EXPECT_EQ(count_table(result).find('\x1b'), std::string::npos);
  EXPECT_EQ(count_json(result).find('\x1b'), std::string::npos);
}

TEST(Csv, QuotesWhatNeedsQuoting) {
  const std::vector<std::string> cells = {"plain", "a,b", "say \"hi\"", "two\nlines"};
  EXPECT_EQ(csv_line(cells), "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\n");
}

TEST(TextTable, ShortensNamesInTheMiddle) {
  EXPECT_EQ(shortened("layer3.block2.conv1", 12), "laye…2.conv1");
  EXPECT_EQ(shortened("short", 12), "short");
  EXPECT_EQ(cut_off("BatchNormalization", 13), "BatchNormali…");
  EXPECT_EQ(cut_off("Conv", 13), "Conv");
  EXPECT_EQ(display_width(shortened("ééééééééééééééé", 7)), 7u);
}

}  // namespace
}  // namespace assay
