#include "assay/compare_report.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/compare_cells.h"
#include "report/compare_words.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string rows_table(const CompareReport& report) {
  std::vector<TextColumn> columns;
  for (std::string& title : metric_titles()) columns.push_back({std::move(title), true});
  columns.front().is_number = false;
  columns.front().shrinks = true;
  columns.back().is_number = false;
  TextTable table(columns);
  for (const ComparedRow& row : report.rows) {
    if (!row.name.empty()) table.add_row({row.name, "", "", "", row.error});
    for (const ComparedMetric& metric : row.metrics) {
      std::vector<std::string> cells = metric_cells(metric);
      if (!row.name.empty()) cells.front() = "  " + cells.front();
      table.add_row(std::move(cells));
    }
  }
  return table.render(kTableWidth);
}

std::string side(const char* letter, const ComparedName& named) {
  const std::string setting = named.setting.empty() ? "" : "   " + named.setting;
  const std::string name = without_control_characters(named.name);
  return fmt::format("{}  {}{}\n", letter,
                     shortened(name, kTableWidth - 3 - display_width(setting)), setting);
}

std::string verdict_lines(const CompareReport& report) {
  if (!report.models) return labelled("", report.how);
  const Comparison& result = report.models->result;
  return labelled("verdict", fmt::format("{}   {}", name(result.verdict), verdict_words(result))) +
         labelled("", report.how);
}

std::string gate_lines(const CompareReport& report) {
  std::string text;
  for (const GateResult& result : report.gates) {
    text += labelled(text.empty() ? "gates" : "", gate_sentence(result));
  }
  return text;
}

}  // namespace

std::string compare_table(const CompareReport& report) {
  return side("A", report.a) + side("B", report.b) + "\n" + rows_table(report) + "\n" +
         verdict_lines(report) + gate_lines(report);
}

}  // namespace assay
