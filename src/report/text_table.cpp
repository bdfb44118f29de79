#include "report/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

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

// `tail` characters of the end, after "…"; width ≥ 1.
std::string without_middle(std::string_view text, std::size_t width, std::size_t tail) {
  const std::size_t head = width - 1 - tail;
  return std::string(first_characters(text, head)) + "…" + std::string(last_characters(text, tail));
}

// The end of a name tells layers apart.
std::size_t usual_tail(std::size_t width) {
  return (width - 1) * 2 / 3;
}

using Texts = std::vector<std::string>;

// The forms of these texts with the same characters removed, if they differ from each other and
// from those taken.
std::optional<Texts> distinct_forms(const Texts& texts, std::size_t width, std::size_t tail,
                                    const std::set<std::string>& taken) {
  Texts forms;
  for (const std::string& text : texts) forms.push_back(without_middle(text, width, tail));
  const std::set<std::string> different(forms.begin(), forms.end());
  const auto is_taken = [&](const std::string& form) { return taken.contains(form); };
  if (different.size() < forms.size() || std::ranges::any_of(forms, is_taken)) return {};
  return forms;
}

// Texts of which no short form tells which is which: "layer…conv~2".
Texts numbered_forms(const Texts& texts, std::size_t width, const std::set<std::string>& taken) {
  Texts forms;
  int number = 0;
  for (const std::string& text : texts) {
    std::string form;
    do {
      const std::string ending = fmt::format("~{}", ++number);
      const std::size_t left = width - std::min(width, ending.size());
      form = shortened(text, left) + ending;
    } while (taken.contains(form));
    forms.push_back(form);
  }
  return forms;
}

// Short forms of texts that look alike with the usual one.
Texts told_apart(const Texts& texts, std::size_t width, const std::set<std::string>& taken) {
  if (const auto forms = distinct_forms(texts, width, usual_tail(width), taken)) return *forms;
  for (std::size_t tail = width; tail-- > 0;) {
    if (const auto forms = distinct_forms(texts, width, tail, taken)) return *forms;
  }
  return numbered_forms(texts, width, taken);
}

std::string padded(const std::string& text, const TextColumn& column, std::size_t width) {
  const std::string space(width - display_width(text), ' ');
  return column.is_number ? space + text : text + space;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  return without_middle(text, width, usual_tail(width));
}

std::vector<std::string> shortened_apart(std::span<const std::string> texts, std::size_t width) {
  if (width == 0) return Texts(texts.size());
  std::map<std::string, std::string> chosen;  // text, its short form
  std::set<std::string> taken;
  std::map<std::string, Texts> alike;  // by their usual form
  for (const std::string& text : std::set<std::string>(texts.begin(), texts.end())) {
    if (display_width(text) <= width) {
      chosen[text] = *taken.insert(text).first;
    } else {
      alike[shortened(text, width)].push_back(text);
    }
  }
  for (const auto& [usual, group] : alike) {
    const Texts forms = told_apart(group, width, taken);
    for (std::size_t i = 0; i < group.size(); ++i) chosen[group[i]] = forms[i];
    taken.insert(forms.begin(), forms.end());
  }
  Texts forms;
  for (const std::string& text : texts) forms.push_back(chosen[text]);
  return forms;
}

std::string cut_off(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  return std::string(first_characters(text, width - 1)) + "…";
}

std::string markdown_cell(std::string_view text) {
  std::string escaped;
  for (const char c : without_control_characters(text)) {
    constexpr std::string_view kMarkup = "\\`*_{}[]<>#|~&";
    if (kMarkup.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
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

// The cells of a column as they are printed, without the title.
std::vector<std::string> TextTable::cells_of(std::size_t column, std::size_t width) const {
  std::vector<std::string> cells;
  for (const auto& row : rows_) cells.push_back(row.empty() ? "" : row[column]);
  return shortened_apart(cells, width);
}

std::string TextTable::render(const Layout& layout) const {
  return layout.markdown ? markdown() : plain(layout.width);
}

std::string TextTable::markdown() const {
  const auto line_of = [&](const auto& cell_at) {
    std::string line = "|";
    for (std::size_t i = 0; i < columns_.size(); ++i) line += " " + cell_at(i) + " |";
    return line + "\n";
  };
  std::string text = line_of([&](std::size_t i) { return markdown_cell(columns_[i].title); });
  text +=
      line_of([&](std::size_t i) { return std::string(columns_[i].is_number ? "---:" : "---"); });
  for (const auto& row : rows_) {
    if (!row.empty()) text += line_of([&](std::size_t i) { return markdown_cell(row[i]); });
  }
  return text;
}

std::string TextTable::plain(std::size_t width) const {
  const auto column_widths = widths(width);
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < columns_.size(); ++i) cells.push_back(cells_of(i, column_widths[i]));
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
  const auto title_at = [&](std::size_t i) {
    return shortened(columns_[i].title, column_widths[i]);
  };
  std::string text = line_of(title_at) + rule();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    text += rows_[r].empty() ? rule() : line_of([&](std::size_t i) { return cells[i][r]; });
  }
  return text;
}

}  // namespace assay::report
