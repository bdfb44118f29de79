#include "report/text_table.h"

#include <algorithm>
#include <numeric>

namespace assay::report {

namespace {

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;  // not a UTF-8 continuation byte
}

std::string_view first_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (starts_character(text[at]) && seen++ == count) break;
  }
  return text.substr(0, at);
}

std::string_view last_characters(std::string_view text, std::size_t count) {
  const std::size_t skipped = display_width(text) - count;
  return text.substr(first_characters(text, skipped).size());
}

std::string padded(const std::string& cell, const TextColumn& column, std::size_t width) {
  const std::string text = shortened(cell, width);
  const std::string space(width - display_width(text), ' ');
  return column.is_number ? space + text : text + space;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  const std::size_t tail = (width - 1) * 2 / 3;  // the end of a name tells layers apart
  const std::size_t head = width - 1 - tail;
  return std::string(first_characters(text, head)) + "…" + std::string(last_characters(text, tail));
}

std::string cut_off(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  return std::string(first_characters(text, width - 1)) + "…";
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::add_rule() {
  rows_.emplace_back();
}

std::vector<std::size_t> TextTable::widths(std::size_t total) const {
  std::vector<std::size_t> wanted;
  for (const auto& column : columns_) wanted.push_back(display_width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      wanted[i] = std::max(wanted[i], display_width(row[i]));
    }
  }
  const auto used = [&] {
    return std::accumulate(wanted.begin(), wanted.end(), 2 * (columns_.size() - 1));
  };
  // Take one character at a time from the widest column that may shrink.
  while (used() > total) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool may_shrink = columns_[i].shrinks && wanted[i] > columns_[i].narrowest;
      if (may_shrink && (widest == columns_.size() || wanted[i] > wanted[widest])) widest = i;
    }
    if (widest == columns_.size()) break;
    --wanted[widest];
  }
  return wanted;
}

std::string TextTable::render(std::size_t width) const {
  const auto column_widths = widths(width);
  const std::size_t total =
      std::accumulate(column_widths.begin(), column_widths.end(), 2 * (columns_.size() - 1));
  const auto line_of = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += "  ";
      line += padded(cell_at(i), columns_[i], column_widths[i]);
    }
    return without_trailing_space(line) + "\n";
  };
  const auto rule = [&] {
    std::string line;
    for (std::size_t i = 0; i < total; ++i) line += "─";
    return line + "\n";
  };
  std::string text = line_of([&](std::size_t i) { return columns_[i].title; }) + rule();
  for (const auto& row : rows_) {
    text += row.empty() ? rule() : line_of([&](std::size_t i) { return row[i]; });
  }
  return text;
}

}  // namespace assay::report
