#include "report/csv.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::report {
namespace {

std::string line_of(std::vector<std::string> cells) {
  return csv_line(cells);
}

TEST(Csv, FormulasBecomeTextAndNumbersStay) {
  EXPECT_EQ(line_of({"=1+1", "@SUM(A1)", "+cmd", "-2+3"}), "'=1+1,'@SUM(A1),'+cmd,'-2+3\n");
  EXPECT_EQ(line_of({"-1.5", "-1e-05", "+2", "-", ""}), "-1.5,-1e-05,+2,-,\n");
  EXPECT_EQ(line_of({"=a,\"b\""}), "\"'=a,\"\"b\"\"\"\n");
}

}  // namespace
}  // namespace assay::report
