// A table of comma-separated values as RFC 4180 has it, with a header. The text is untrusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

class CsvTable {
 public:
  // Throws an Error that names the line: an open quote, or a row with more or fewer cells than the
  // header.
  CsvTable(std::string_view text, std::string file);

  std::size_t rows() const { return rows_.size(); }
  bool has(std::string_view column) const;
  // Empty if there is no such column.
  const std::string& cell(std::size_t row, std::string_view column) const;
  std::size_t line(std::size_t row) const { return lines_[row]; }  // from 1
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> lines_;
};

}  // namespace assay::store
