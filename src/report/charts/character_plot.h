// A plot made of characters: lines in Braille dots, two across and four down in each cell, and
// single characters on top of them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

class CharacterPlot {
 public:
  CharacterPlot(std::size_t columns, std::size_t rows)
      : columns_(columns), rows_(rows), cells_(columns * rows) {}

  std::size_t columns() const { return columns_; }
  std::size_t rows() const { return rows_; }

  // A dotted line between two positions, each 0 to 1 from the left and from the top.
  void line(double x0, double y0, double x1, double y1);
  // `colour` is what follows "ESC[" up to the "m", or nothing.
  bool is_marked(std::size_t column, std::size_t row) const;
  void mark(std::size_t column, std::size_t row, std::string_view character,
            std::string_view colour = {});
  // Writes the text if its cells are empty, or contain only dots that may be overwritten.
  enum class Dots { Stay, MayGo };
  bool write_if_free(std::size_t column, std::size_t row, std::string_view text,
                     Dots dots = Dots::Stay);
  std::string line_of(std::size_t row, bool use_colour) const;

  std::size_t column_of(double x) const;
  std::size_t row_of(double y) const;

 private:
  struct Cell {
    unsigned dots = 0;
    std::string character = {};
    std::string colour = {};
  };
  void dot(double x, double y);
  const Cell& cell(std::size_t column, std::size_t row) const {
    return cells_[row * columns_ + column];
  }

  std::size_t columns_ = 0;
  std::size_t rows_ = 0;
  std::vector<Cell> cells_;
};

std::string coloured(std::string_view text, std::string_view colour, bool use_colour);

}  // namespace assay::report
