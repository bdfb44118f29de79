#include "store/csv_reader.h"

#include <algorithm>

#include "base/fail.h"

namespace assay::store {

namespace {

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& file) : rest_(text), file_(file) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  bool has_more() const { return !rest_.empty(); }
  std::size_t line() const { return line_; }

  std::vector<std::string> next_row() {
    std::vector<std::string> cells = {next_cell()};
    while (take(',')) cells.push_back(next_cell());
    take('\r');
    if (has_more() && !take('\n')) {
      fail_bad_input("{}, line {}: text after a closing quote", file_, line_);
    }
    ++line_;
    return cells;
  }

 private:
  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string next_cell() {
    if (take('"')) return quoted_cell();
    const std::string_view cell = rest_.substr(0, rest_.find_first_of(",\r\n"));
    rest_.remove_prefix(cell.size());
    return std::string(cell);
  }

  std::string quoted_cell() {
    const std::size_t start = line_;
    std::string cell;
    while (has_more()) {
      const char next = rest_.front();
      rest_.remove_prefix(1);
      if (next == '"' && !take('"')) return cell;
      if (next == '\n') ++line_;
      cell += next;
    }
    fail_bad_input("{}, line {}: a quote is not closed", file_, start);
  }

  std::string_view rest_;
  const std::string& file_;
  std::size_t line_ = 1;
};

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string file) : file_(std::move(file)) {
  CsvParser parser(text, file_);
  header_ = parser.next_row();
  while (parser.has_more()) {
    const std::size_t line = parser.line();
    std::vector<std::string> cells = parser.next_row();
    const bool is_blank = cells.size() == 1 && cells.front().empty();
    if (is_blank) continue;
    if (cells.size() != header_.size()) {
      fail_bad_input("{}, line {}: {} cells, but the header has {}", file_, line, cells.size(),
                     header_.size());
    }
    rows_.push_back(std::move(cells));
    lines_.push_back(line);
  }
}

bool CsvTable::has(std::string_view column) const {
  return std::ranges::find(header_, column) != header_.end();
}

const std::string& CsvTable::cell(std::size_t row, std::string_view column) const {
  static const std::string kNothing;
  const auto found = std::ranges::find(header_, column);
  if (found == header_.end()) return kNothing;
  return rows_[row][static_cast<std::size_t>(found - header_.begin())];
}

}  // namespace assay::store
