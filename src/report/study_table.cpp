#include <fmt/core.h>

#include <cmath>

#include "assay/study_report.h"
#include "report/csv.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

struct ShownCell {
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(std::int64_t value) const {
    return std::abs(static_cast<double>(value)) < 1e6 ? with_thousands(value)
                                                      : with_si_suffix(static_cast<double>(value));
  }
  std::string operator()(double value) const {
    return std::abs(value) < 1e6 ? any_rate_text(value) : with_si_suffix(value);
  }
  std::string operator()(const std::string& value) const {
    return without_control_characters(value);
  }
};

struct CsvCell {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return csv_number(value); }
  std::string operator()(const std::string& value) const { return value; }
};

bool is_text(const StudyReport& report, std::size_t column) {
  return !report.rows.empty() &&
         std::holds_alternative<std::string>(report.rows.front().at(column));
}

std::string heading_of(const StudyColumn& column) {
  return column.unit.empty() || column.unit == "%" ? column.heading
                                                   : column.heading + " " + column.unit;
}

// A long text may be shortened.
TextColumn text_column(const StudyReport& report, std::size_t column) {
  const bool is_word = is_text(report, column);
  return {.title = heading_of(report.columns[column]),
          .is_number = !is_word,
          .shrinks = is_word && column > 0,
          .narrowest = 12};
}

std::string percent_cell(const StudyCell& cell) {
  const double* number = std::get_if<double>(&cell);
  return number == nullptr ? "-" : fmt::format("{:.{}f}%", *number, *number < 10 ? 1 : 0);
}

std::string shown_cell(const StudyColumn& column, const StudyCell& cell) {
  return column.unit == "%" ? percent_cell(cell) : std::visit(ShownCell{}, cell);
}

std::string rows_table(const StudyReport& report, const Layout& layout) {
  std::vector<TextColumn> columns;
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    if (report.columns[i].is_shown) columns.push_back(text_column(report, i));
  }
  TextTable table(std::move(columns));
  for (const auto& row : report.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      if (report.columns[i].is_shown) cells.push_back(shown_cell(report.columns[i], row.at(i)));
    }
    table.add_row(std::move(cells));
  }
  return table.render(layout);
}

}  // namespace

std::string study_table(const StudyReport& report, const Layout& layout) {
  std::string text = report.title + "\n";
  for (const std::string& line : report.setting) text += wrapped(line);
  text += "\n" + rows_table(report, layout) + "\n";
  for (const std::string& sentence : report.facts.verdict) text += wrapped(sentence);
  return text;
}

std::string study_csv(const StudyReport& report) {
  std::vector<std::string> cells;
  for (const StudyColumn& column : report.columns) cells.push_back(column.key);
  std::string text = csv_line(cells);
  for (const auto& row : report.rows) {
    cells.clear();
    for (const StudyCell& cell : row) cells.push_back(std::visit(CsvCell{}, cell));
    text += csv_line(cells);
  }
  return text;
}

}  // namespace assay
