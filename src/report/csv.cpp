#include "report/csv.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>

namespace assay::report {

namespace {

bool is_number(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc() && end == cell.data() + cell.size();
}

// Spreadsheets run a cell that begins like this. A lone "-" is no formula.
bool begins_a_formula(const std::string& cell) {
  constexpr std::string_view kBeginnings = "=+-@\t\r";
  return cell.size() > 1 && kBeginnings.find(cell.front()) != std::string_view::npos &&
         !is_number(cell);
}

std::string quoted(const std::string& cell) {
  // An apostrophe before it makes spreadsheets take it as text.
  if (begins_a_formula(cell)) return quoted("'" + cell);
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + quoted(cells[i]);
  return line + "\n";
}

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

}  // namespace assay::report
