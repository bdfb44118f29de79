// A text table of limited width: numbers are right-aligned, long names are shortened in the middle,
// never so that two of them look alike.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/layout.h"
#include "base/text.h"

namespace assay::report {

constexpr std::size_t kRowsShown = 15;  // of a long table, unless asked for more

struct TextColumn {
  std::string title;
  bool is_number = false;
  bool shrinks = false;  // gets narrower if the table is too wide
  std::size_t narrowest = 1;
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  void add_row(std::vector<std::string> cells);
  void add_rule();
  std::string render(const Layout& layout) const;
  std::string render(std::size_t width) const { return plain(width); }

 private:
  std::string plain(std::size_t width) const;
  std::string markdown() const;
  std::vector<std::size_t> widths(std::size_t total) const;
  std::vector<std::string> cells_of(std::size_t column, std::size_t width) const;

  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

std::string shortened(std::string_view text, std::size_t width);  // "layer3.…conv2"
// Each at most `width` characters long; different texts stay different.
std::vector<std::string> shortened_apart(std::span<const std::string> texts, std::size_t width);
// No character of it ends a cell or starts markup.
std::string markdown_cell(std::string_view text);
std::string cut_off(std::string_view text, std::size_t width);  // "BatchNormali…"; width ≥ 1

}  // namespace assay::report
