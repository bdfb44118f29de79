// A comparison as GitHub's Markdown, for pull requests and job summaries.
#include <fmt/core.h>

#include "assay/compare_report.h"
#include "base/text.h"
#include "report/compare_cells.h"
#include "report/compare_words.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + markdown_cell(cell) + " |";
  return line + "\n";
}

std::string metrics_section(const ComparedRow& row) {
  std::string text = row.name.empty() ? "" : "\n**" + markdown_cell(row.name) + "**\n";
  if (!row.error.empty()) return text + "\nB failed: " + markdown_cell(row.error) + "\n";
  text += "\n" + markdown_row(metric_titles()) + "| --- | ---: | ---: | ---: | --- |\n";
  for (const ComparedMetric& metric : row.metrics) text += markdown_row(metric_cells(metric));
  return text;
}

std::string gates_section(const std::vector<GateResult>& gates) {
  if (gates.empty()) return "";
  std::string text = "\n" + markdown_row({"gate", "result", "reason"}) + "| --- | --- | --- |\n";
  for (const GateResult& result : gates) {
    text += fmt::format("| {} | **{}** | {} |\n", markdown_cell(gate_title(result)),
                        name(result.verdict), markdown_cell(result.reason));
  }
  return text;
}

std::string side_line(const char* letter, const ComparedName& named) {
  return fmt::format("- {}: {}{}\n", letter, markdown_cell(named.name),
                     named.setting.empty() ? "" : ", " + markdown_cell(named.setting));
}

std::string verdict_section(const CompareReport& report) {
  const std::string how = markdown_cell(report.how) + ".\n";
  if (!report.models) return "\n" + how;
  const Comparison& result = report.models->result;
  return fmt::format("\n**{}**: {}. {}", name(result.verdict), markdown_cell(verdict_words(result)),
                     how);
}

}  // namespace

std::string compare_markdown(const CompareReport& report) {
  std::string text = "### assay compare\n\n" + side_line("A", report.a) + side_line("B", report.b) +
                     gates_section(report.gates);
  for (const ComparedRow& row : report.rows) text += metrics_section(row);
  text += verdict_section(report);
  for (const std::string& warning : report.warnings) text += "\n> " + markdown_cell(warning) + "\n";
  return text;
}

}  // namespace assay
