#include "assay/layout.h"
#include "base/text.h"

namespace assay {

namespace {

bool is_table_line(const std::string& line) {
  return line.starts_with("|");
}

// Lines without those that are empty at both ends.
std::string trimmed(const std::string& lines) {
  const auto first = lines.find_first_not_of('\n');
  if (first == std::string::npos) return "";
  return lines.substr(first, lines.find_last_not_of('\n') + 1 - first);
}

}  // namespace

std::string finished(std::string_view report, const Layout& layout) {
  if (!layout.markdown) return std::string(report);
  std::string text;
  std::string prose;
  const auto add_block = [&](const std::string& block) {
    if (!block.empty()) text += (text.empty() ? "" : "\n") + block + "\n";
  };
  const auto end_prose = [&] {
    const std::string lines = trimmed(prose);
    prose.clear();
    if (!lines.empty()) add_block("```text\n" + lines + "\n```");
  };
  std::string table;
  for (const std::string& line : split(report, '\n')) {
    if (is_table_line(line)) {
      if (table.empty()) end_prose();
      table += line + "\n";
      continue;
    }
    add_block(trimmed(table));
    table.clear();
    prose += line + "\n";
  }
  add_block(trimmed(table));
  end_prose();
  return text;
}

}  // namespace assay
