#include "report/charts/character_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/text_table.h"

namespace assay::report {

namespace {

const std::string kDotColour = "90";  // grey

std::size_t step_of(double place, std::size_t steps) {
  const double scaled = std::clamp(place, 0.0, 1.0) * static_cast<double>(steps);
  return std::min(static_cast<std::size_t>(scaled), steps - 1);
}

// The Unicode block at U+2800 has a character for each set of eight dots.
std::string braille(unsigned dots) {
  return {static_cast<char>(0xe2), static_cast<char>(0xa0 + (dots >> 6)),
          static_cast<char>(0x80 + (dots & 0x3fu))};
}

unsigned dot_bit(std::size_t across, std::size_t down) {
  constexpr unsigned kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  return kBits[down][across];
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0u) == 0x80u;
    if (continues && !characters.empty()) {
      characters.back() += c;
    } else {
      characters.emplace_back(1, c);
    }
  }
  return characters;
}

}  // namespace

std::string coloured(std::string_view text, std::string_view colour, bool use_colour) {
  if (!use_colour || colour.empty() || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", colour, text);
}

std::size_t CharacterPlot::column_of(double x) const {
  return step_of(x, columns_);
}

std::size_t CharacterPlot::row_of(double y) const {
  return step_of(y, rows_);
}

void CharacterPlot::dot(double x, double y) {
  const std::size_t across = step_of(x, 2 * columns_);
  const std::size_t down = step_of(y, 4 * rows_);
  cells_[down / 4 * columns_ + across / 2].dots |= dot_bit(across % 2, down % 4);
}

void CharacterPlot::line(double x0, double y0, double x1, double y1) {
  const double dots = std::max(std::abs(x1 - x0) * 2 * static_cast<double>(columns_),
                               std::abs(y1 - y0) * 4 * static_cast<double>(rows_));
  const int steps = static_cast<int>(std::ceil(dots)) + 1;
  for (int i = 0; i <= steps; ++i) {
    const double fraction = static_cast<double>(i) / steps;
    dot(x0 + (x1 - x0) * fraction, y0 + (y1 - y0) * fraction);
  }
}

bool CharacterPlot::is_marked(std::size_t column, std::size_t row) const {
  return !cell(column, row).character.empty();
}

void CharacterPlot::mark(std::size_t column, std::size_t row, std::string_view character,
                         std::string_view colour) {
  Cell& target = cells_[row * columns_ + column];
  target.character = character;
  target.colour = colour;
}

bool CharacterPlot::write_if_free(std::size_t column, std::size_t row, std::string_view text,
                                  Dots dots) {
  const auto characters = characters_of(text);
  if (row >= rows_ || column + characters.size() > columns_) return false;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const bool has_dots = cell(column + i, row).dots != 0;
    if (is_marked(column + i, row) || (has_dots && dots == Dots::Stay)) return false;
  }
  for (std::size_t i = 0; i < characters.size(); ++i) mark(column + i, row, characters[i]);
  return true;
}

std::string CharacterPlot::line_of(std::size_t row, bool use_colour) const {
  std::string text;
  std::string run;  // neighbours of one colour
  std::string colour;
  for (std::size_t column = 0; column < columns_; ++column) {
    const Cell& one = cell(column, row);
    const bool is_dotted = one.character.empty() && one.dots != 0;
    const std::string& next = is_dotted ? kDotColour : one.colour;
    if (next != colour)
      text += coloured(std::exchange(run, ""), std::exchange(colour, next), use_colour);
    run += is_dotted ? braille(one.dots) : one.character.empty() ? " " : one.character;
  }
  if (colour.empty()) run.erase(run.find_last_not_of(' ') + 1);
  return text + coloured(run, colour, use_colour);
}

}  // namespace assay::report
