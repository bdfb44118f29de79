// A comparison as GitHub's Markdown, for pull requests and job summaries.
#include <fmt/core.h>

#include "assay/compare_report.h"
#include "base/text.h"
#include "report/compare_cells.h"
#include "report/compare_words.h"

namespace assay {

using namespace assay::report;

namespace {

// Names come from files: no character of theirs may end a cell or start markup.
std::string markdown(std::string_view text) {
  std::string escaped;
  for (const char c : without_control_characters(text)) {
    constexpr std::string_view kMarkup = "\\`*_{}[]<>#|~&";
    if (kMarkup.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + markdown(cell) + " |";
  return line + "\n";
}

std::string metrics_section(const ComparedRow& row) {
  std::string text = row.name.empty() ? "" : "\n**" + markdown(row.name) + "**\n";
  if (!row.error.empty()) return text + "\nB failed: " + markdown(row.error) + "\n";
  text += "\n" + markdown_row(metric_titles()) + "| --- | ---: | ---: | ---: | --- |\n";
  for (const ComparedMetric& metric : row.metrics) text += markdown_row(metric_cells(metric));
  return text;
}

std::string gates_section(const std::vector<GateResult>& gates) {
  if (gates.empty()) return "";
  std::string text = "\n" + markdown_row({"gate", "result", "reason"}) + "| --- | --- | --- |\n";
  for (const GateResult& result : gates) {
    text += fmt::format("| {} | **{}** | {} |\n", markdown(gate_title(result)),
                        name(result.verdict), markdown(result.reason));
  }
  return text;
}

std::string side_line(const char* letter, const ComparedName& named) {
  return fmt::format("- {}: {}{}\n", letter, markdown(named.name),
                     named.setting.empty() ? "" : ", " + markdown(named.setting));
}

std::string verdict_section(const CompareReport& report) {
  const std::string how = markdown(report.how) + ".\n";
  if (!report.models) return "\n" + how;
  const Comparison& result = report.models->result;
  return fmt::format("\n**{}**: {}. {}", name(result.verdict), markdown(verdict_words(result)),
                     how);
}

}  // namespace

std::string compare_markdown(const CompareReport& report) {
  std::string text = "### assay compare\n\n" + side_line("A", report.a) + side_line("B", report.b) +
                     gates_section(report.gates);
  for (const ComparedRow& row : report.rows) text += metrics_section(row);
  text += verdict_section(report);
  for (const std::string& warning : report.warnings) text += "\n> " + markdown(warning) + "\n";
  return text;
}

}  // namespace assay
