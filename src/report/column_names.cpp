#include "report/column_names.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/fail.h"
#include "base/text.h"

namespace assay::report {

namespace {

// Lower-case letters and digits only: "GFLOP/s" is "gflops".
std::string simplified(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

[[noreturn]] void fail_unknown(std::string_view what, std::string_view word,
                               std::span<const ColumnName> columns) {
  std::vector<std::string> forms;
  std::vector<std::string> headings;
  for (const ColumnName& column : columns) {
    headings.emplace_back(column.heading);
    forms.push_back(simplified(column.heading));
  }
  const auto near = nearest(simplified(word), forms);
  const auto at = near ? std::ranges::find(forms, *near) - forms.begin() : 0;
  fail_usage(
      "{} {}: no such column{}; there are {}", what, word,
      near ? fmt::format(", did you mean '{}'?", headings[static_cast<std::size_t>(at)]) : "",
      join(headings, ", "));
}

}  // namespace

std::size_t find_column(std::string_view what, std::string_view word,
                        std::span<const ColumnName> columns) {
  const std::string wanted = simplified(word);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (wanted == simplified(columns[i].heading) || wanted == simplified(columns[i].key)) return i;
  }
  fail_unknown(what, word, columns);
}

}  // namespace assay::report
