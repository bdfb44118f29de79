#include <fmt/core.h>

#include "assay/profile_report.h"
#include "base/text.h"
#include "report/count_columns.h"
#include "report/csv.h"
#include "report/profile_rows.h"

namespace assay {

using namespace assay::report;

namespace {

std::vector<std::string> profile_header() {
  std::vector<std::string> names = {"name", "op", "output_shape"};
  for (const auto& column : figure_columns()) names.emplace_back(column.name);
  names.insert(names.end(), {"time_ms", "median_ms", "share", "gflops_per_second",
                             "gbytes_per_second", "bound", "bound_level", "percent_of_ceiling",
                             "headroom_ms", "detail", "doubts", "executed_gflops_per_second"});
  return names;
}

std::vector<std::string> cells_of(const ProfileRow& row) {
  const bool unknown = row.cost.answer == Answer::Unknown;
  std::vector<std::string> cells = {
      without_control_characters(row.cost.name), without_control_characters(row.cost.op),
      row.cost.output_shape ? row.cost.output_shape->to_string() : ""};
  for (const auto& column : figure_columns()) {
    const std::int64_t figure = row.cost.*column.figure;
    cells.push_back(unknown && figure == 0 ? "" : std::to_string(figure));
  }
  cells.push_back(csv_number(row.time_ms));
  cells.push_back(csv_number(row.median_ms));
  cells.push_back(row.time_ms ? fmt::format("{:.6f}", row.share) : "");
  cells.push_back(csv_number(row.rates.gflops_per_second));
  cells.push_back(csv_number(row.rates.gbytes_per_second));
  cells.emplace_back(row.rates.bound ? name(*row.rates.bound) : "");
  cells.push_back(row.rates.bound_level);
  cells.push_back(csv_number(row.rates.percent_of_ceiling));
  cells.push_back(csv_number(row.rates.headroom_ms));
  cells.push_back(without_control_characters(row.detail));
  cells.push_back(join(row.warnings, "; "));
  cells.push_back(csv_number(row.rates.executed_gflops_per_second));
  return cells;
}

}  // namespace

std::string profile_csv(const Profile& profile, const ProfileReportOptions& options) {
  std::string text = csv_line(profile_header());
  for (const ProfileRow& row : profile_rows(profile, options)) text += csv_line(cells_of(row));
  return text;
}

}  // namespace assay
